package module

// PanicsPass lets panics pass, so that fuzzing sees them.
func PanicsPass() { catchPanics = false }

// MaxNesting is the limit on nesting.
const MaxNesting = maxNesting
