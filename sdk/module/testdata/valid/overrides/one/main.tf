this file would not parse
