package contract

import (
	"fmt"
	"strconv"
	"strings"
)

// Describe says in a few words what the shape accepts, such as "a string of 1
// to 512 characters" or "a whole number from 1 to 65535".
func (s Shape) Describe() string { return s.describe() }

func (s Shape) describe() string {
	text := s.describeValue()
	if s.Nullable {
		text += ", or null"
	}
	return text
}

func (s Shape) describeValue() string {
	switch s.Kind {
	case KindString:
		return s.describeString()
	case KindInteger:
		return "a whole number" + span(s.Min, s.Max)
	case KindBool:
		return "true or false"
	case KindList:
		return "a list" + s.describeItems("item")
	case KindMap:
		return "a map" + s.describeItems("value")
	case KindObject:
		return "an object with " + s.attributeNames()
	default:
		if s.IntegersOnly {
			return "any value whose numbers are whole"
		}
		return "any value"
	}
}

func (s Shape) describeString() string {
	switch {
	case len(s.Enum) == 1:
		return strconv.Quote(s.Enum[0])
	case len(s.Enum) > 1:
		return "one of " + strings.Join(s.Enum, ", ")
	case s.Format == "base64":
		return "padded standard base64"
	case s.Pattern != "":
		return "a string that matches " + s.Pattern
	case s.MaxLength > 0:
		return fmt.Sprintf("a string of %d to %d characters", s.MinLength, s.MaxLength)
	case s.MinLength > 0:
		return "a string that is not empty"
	default:
		return "a string"
	}
}

func (s Shape) describeItems(noun string) string {
	var size string
	switch {
	case s.MaxLength > 0:
		size = fmt.Sprintf(" of at most %d", s.MaxLength)
	case s.Truncate > 0:
		size = fmt.Sprintf(", of which %d items are kept", s.Truncate)
	}
	return size + ", each " + noun + " " + s.Elem.describe()
}

func span(lower, upper *int64) string {
	switch {
	case lower != nil && upper != nil:
		return fmt.Sprintf(" from %d to %d", *lower, *upper)
	case lower != nil:
		return fmt.Sprintf(" of at least %d", *lower)
	case upper != nil:
		return fmt.Sprintf(" of at most %d", *upper)
	default:
		return ""
	}
}
