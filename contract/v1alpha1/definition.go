// Package v1alpha1 is version v1alpha1 of the module contract: its tables, and
// how the inputs of a run are rendered and hashed and its outputs decoded.
//
// Not in this package: vocabulary and rules that every version shares (package
// contract) and the choice of a version (package versions).
package v1alpha1

import "github.com/captf-toolkit/captf/contract"

// Definition returns this version of the contract; it is the same value each time.
func Definition() contract.Definition { return theDefinition }

var theDefinition = &definition{specs: map[contract.Role]contract.RoleSpec{
	contract.RoleCluster:     clusterSpec(),
	contract.RoleMachine:     machineSpec(),
	contract.RoleMachinePool: poolSpec(),
}}

type definition struct {
	specs map[contract.Role]contract.RoleSpec
}

func (*definition) Version() string { return Version }

func (d *definition) Spec(role contract.Role) contract.RoleSpec { return d.specs[role] }

func (*definition) Limits() []contract.Limit { return limits() }

func (*definition) Changes() []contract.Change { return changes() }
