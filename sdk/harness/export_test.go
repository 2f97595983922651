package harness

import (
	"maps"
	"slices"
)

// ShownIDs are the ids for which a proof is planned.
func ShownIDs() []string { return slices.Sorted(maps.Keys(shownFor)) }
