This directory is not called, so nobody reads it: {{{
