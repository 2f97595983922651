package harness

import (
	"maps"
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// ProbeOnly leaves out the probes of modules of other roles.
func (c *Config) ProbeOnly(roles ...contract.Role) { c.probed = roles }

// ShownIDs are the ids for which a proof is planned.
func ShownIDs() []string { return slices.Sorted(maps.Keys(shownFor)) }
