package v1alpha1

import "github.com/captf-toolkit/captf/contract"

func (d definition) Render(in contract.Inputs, vars []contract.Variable, opts contract.RenderOptions) (*contract.Rendered, contract.Violations) {
	return nil, contract.Violations{{Path: "inputs", Rule: "implemented", Reason: contract.ReasonInvalid, Message: "rendering is not implemented"}}
}

func (d definition) DecodeCluster(contract.Values) (*contract.ClusterOutputs, contract.Violations) {
	return nil, nil
}

func (d definition) DecodeMachine(contract.Values, *contract.MachineInputs) (*contract.MachineOutputs, contract.Violations) {
	return nil, nil
}

func (d definition) DecodePool(contract.Values) (*contract.PoolOutputs, contract.Violations) {
	return nil, nil
}
