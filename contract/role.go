package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Role is the part a module plays: it decides which inputs the module is given
// and which outputs it must have (contract.md 1).
type Role string

// The roles of a module.
const (
	// RoleCluster makes what the machines of a cluster share: network, load balancer, endpoint.
	RoleCluster Role = "cluster"
	// RoleMachine makes exactly one node instance.
	RoleMachine Role = "machine"
	// RoleMachinePool makes one native scaling group.
	RoleMachinePool Role = "machinepool"
)

var roles = []struct {
	role        Role
	kind, short string
}{
	{RoleCluster, "TerraformCluster", "c"},
	{RoleMachine, "TerraformMachine", "m"},
	{RoleMachinePool, "TerraformMachinePool", "mp"},
}

// Roles returns every role, in the order in which a cluster needs them.
func Roles() []Role {
	return []Role{RoleCluster, RoleMachine, RoleMachinePool}
}

// ParseRole returns the role named s. The error lists the roles there are.
func ParseRole(s string) (Role, error) {
	if slices.Contains(Roles(), Role(s)) {
		return Role(s), nil
	}
	return "", fmt.Errorf("parsing role %q: it is one of %s", s, RoleNames())
}

// RoleNames returns the names of all roles as a list for people.
func RoleNames() string {
	names := make([]string, 0, len(roles))
	for _, r := range roles {
		names = append(names, string(r.role))
	}
	return strings.Join(names, ", ")
}

// Kind returns the kind of the custom resource whose modules have this role,
// such as TerraformCluster; it is empty for an unknown role.
func (r Role) Kind() string {
	for _, row := range roles {
		if row.role == r {
			return row.kind
		}
	}
	return ""
}

// ShortKind returns the abbreviation used in Secret names: c, m or mp.
func (r Role) ShortKind() string {
	for _, row := range roles {
		if row.role == r {
			return row.short
		}
	}
	return ""
}
