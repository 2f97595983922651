package harness

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// Gates of the CAPTF controllers.
var (
	gateClusterProvisioned = Gate{
		ID: "captf/cluster-provisioned", WaitsFor: "outputs of the cluster module that are valid, with a health that is not pending",
		Source: "contract.md 9.4", Role: contract.RoleCluster, Output: "health", Requirement: "CP-006",
		Remedy: "report health.state running as soon as the shared infrastructure exists, without any backend: machines are created only afterwards",
	}
	gateMachineOperations = Gate{
		ID: "captf/machine-operations", WaitsFor: "the end of the writes of machines and pools (WaitingForMachineOperations)",
		Source: "contract.md 14.5",
	}
	gateClusterOperation = Gate{
		ID: "captf/cluster-operation", WaitsFor: "the end of the write of the TerraformCluster (WaitingForClusterOperation)",
		Source: "contract.md 14.5",
	}
	gateInfrastructureProvisioned = Gate{
		ID: "captf/cluster-infrastructure", WaitsFor: "Cluster.status.initialization.infrastructureProvisioned",
		Source: "contract.md 10.4 #3",
	}
	gateBootstrapData = Gate{
		ID: "captf/bootstrap-data", WaitsFor: "the bootstrap Secret (WaitingForBootstrapData)",
		Source: "contract.md 10.4 #5",
	}
	gateDependents = Gate{
		ID: "captf/deletion-blocked", WaitsFor: "the deletion of every TerraformMachine and TerraformMachinePool (DeletionBlocked/DependentsExist)",
		Source: "contract.md 1",
	}
	gateMachineHealth = Gate{
		ID: "captf/machine-pending", WaitsFor: "a health that is not pending",
		Source: "contract.md 10.3", Role: contract.RoleMachine, Output: "health", Requirement: "CP-054",
		Remedy: "report pending at most until the provider id and the addresses exist; never wait for the Node",
	}
	gateProviderID = Gate{
		ID: "captf/provider-id", WaitsFor: "a provider_id that is not null",
		Source: "contract.md 10.3", Role: contract.RoleMachine, Output: "provider_id", Requirement: "CP-040",
		Remedy: "emit the provider id as soon as the instance exists",
	}
	gateAddresses = Gate{
		ID: "captf/addresses", WaitsFor: "addresses that are not null (null means not known yet; none is [])",
		Source: "contract.md 10.2", Role: contract.RoleMachine, Output: "addresses", Requirement: "CP-042",
		Remedy: "emit at least one address, InternalIP among them",
	}
	gatePoolHealth = Gate{
		ID: "captf/pool-pending", WaitsFor: "a health that is not pending",
		Source: "contract.md 11.4", Role: contract.RoleMachinePool, Output: "health", Requirement: "CP-064",
		Remedy: "report pending only while the group is absent or has no member at all; never wait for Nodes",
	}
	gatePoolMembers = Gate{
		ID: "captf/pool-members", WaitsFor: "as many entries in provider_id_list as replicas",
		Source: "contract.md 11.2", Role: contract.RoleMachinePool, Output: "provider_id_list", Requirement: "CP-063",
		Remedy: "list every member that is not terminated, and emit the group's desired capacity as replicas",
	}
)

// maxRefreshes is how often an object without a change is refreshed: as often
// as a machine is in the time of Patience. What a module does not emit by then
// it will not emit, and every refresh is a real run.
const maxRefreshes = 8

// writing tells that the object is being changed.
func (i *Infra) writing() bool { return i.Running == OpApply || i.Running == OpDestroy }

// reconcileInfraCluster is the TerraformCluster controller.
func (p *play) reconcileInfraCluster() bool {
	i := p.w.Infra
	if i.Gone || i.Running != "" {
		return false
	}
	if i.Deleting {
		return p.destroyInfra(i, gateDependents, func() (bool, any) { return len(p.w.Machines) == 0 && p.w.Pool == nil, nil })
	}
	if !p.ownerSet || p.w.Spec.Deleted || p.backsOff(i, OpApply) {
		return false
	}
	if p.restored(i) {
		return true
	}
	if in := p.clusterInputs(); p.changed(i, in) {
		if p.holdCluster() {
			return false
		}
		i.waiting = true
		if !p.open(i, gateMachineOperations, func() (bool, any) { return p.machineWrites() == nil, p.machineWrites() }) {
			return false
		}
		i.waiting = false
		p.start(i, OpApply, in)
		return true
	}
	if i.Provisioned {
		return i.settling && p.refreshAgain(i) || p.readFaulty(i)
	}
	return p.refreshPending(i)
}

// clusterInputs are what the controller renders for the cluster at present.
func (p *play) clusterInputs() *contract.ClusterInputs {
	in := p.baseClusterInputs(p.w.Infra.Name)
	version := p.w.Spec.ClusterVersion
	in.KubernetesVersion = &version
	in.ControlPlaneInitialized = contract.LatchInitialized(&p.w.Cluster.ControlPlaneInitialized, p.reapplied())
	in.ControlPlaneEndpoint = contract.EndpointInput(p.endpointSource, p.w.Cluster.Endpoint, p.infraEndpoint)
	return in
}

// baseClusterInputs are the inputs of a cluster before anything happened.
func (p *play) baseClusterInputs(object string) *contract.ClusterInputs {
	version := p.cp.Version
	var port *int64
	if p.cfg.Scenario.APIServerPort != 0 {
		port = &p.cfg.Scenario.APIServerPort
	}
	return &contract.ClusterInputs{
		CommonInputs:      p.common(object),
		KubernetesVersion: &version,
		ClusterNetwork: &contract.ClusterNetwork{
			Pods: []string{"192.168.0.0/16"}, Services: []string{"10.128.0.0/12"}, APIServerPort: port,
		},
	}
}

func (p *play) common(object string) contract.CommonInputs {
	c := p.w.Cluster
	return contract.CommonInputs{
		Cluster:  contract.NamespacedName{Name: c.Name, Namespace: c.Namespace},
		Object:   contract.NamespacedName{Name: object, Namespace: c.Namespace},
		Template: p.template,
	}
}

// changed tells that the inputs differ from those of the newest successful apply.
func (p *play) changed(i *Infra, in contract.Inputs) bool {
	if i.AppliedHash == "" || i.unapplied {
		return true
	}
	if reflect.DeepEqual(in, i.Inputs) {
		return false // equal inputs have equal hashes
	}
	rendered, violations := p.cfg.Definition.Render(in, nil, contract.RenderOptions{})
	if rendered == nil {
		p.fatal(fmt.Errorf("rendering the inputs of %s: %w", i.Ref(), violations))
		return false
	}
	return rendered.Hash != i.AppliedHash
}

// machineWrites returns a machine or pool object whose write is under way; nil
// when there is none.
func (p *play) machineWrites() any {
	for _, m := range p.w.Machines {
		if m.Infra.writing() {
			return m.Infra
		}
	}
	if p.w.Pool != nil && p.w.Pool.Infra.writing() {
		return p.w.Pool.Infra
	}
	return nil
}

// mayWrite is the write gate of machines and pools: a cluster that writes or
// waits to comes first.
func (p *play) mayWrite(i *Infra) bool {
	return p.open(i, gateClusterOperation, p.clusterIdle)
}

// clusterIdle is the condition of the write gate of machines and pools.
func (p *play) clusterIdle() (open bool, on any) {
	return !p.w.Infra.writing() && !p.w.Infra.waiting && !p.holdMachines(), nil
}

// reconcileInfraMachines is the TerraformMachine controller.
func (p *play) reconcileInfraMachines() bool {
	changed := false
	for _, m := range slices.Clone(p.w.Machines) {
		changed = p.reconcileInfraMachine(m) || changed
	}
	return changed
}

func (p *play) reconcileInfraMachine(m *Machine) bool {
	i := m.Infra
	if i.Gone || i.Running != "" {
		return false
	}
	if i.Deleting {
		return p.destroyInfra(i, gateClusterOperation, p.clusterIdle)
	}
	if m.Deleting {
		return false
	}
	if i.AppliedHash != "" {
		if p.restored(i) {
			return true
		}
		if i.Provisioned {
			return i.settling && p.refreshAgain(i) || p.readFaulty(i)
		}
		return p.refreshPending(i)
	}
	if p.backsOff(i, OpApply) {
		return false
	}
	if !p.machineReady(i, func() (bool, any) { return m.Bootstrap != nil, m }) || !p.mayWrite(i) {
		return false
	}
	p.start(i, OpApply, p.machineInputs(m))
	return true
}

// machineReady are the gates before the first apply of a machine or pool
// (contract.md 10.4).
func (p *play) machineReady(i *Infra, bootstrap func() (bool, any)) bool {
	return p.open(i, gateInfrastructureProvisioned, func() (bool, any) { return p.w.Cluster.InfrastructureProvisioned, p.w.Infra }) &&
		p.open(i, gateBootstrapData, bootstrap)
}

func (p *play) machineInputs(m *Machine) *contract.MachineInputs {
	version := m.Version
	return &contract.MachineInputs{
		CommonInputs:      p.common(m.Infra.Name),
		ClusterOutputs:    p.w.Infra.Cluster.Exports,
		MachineName:       m.Name,
		Bootstrap:         *m.Bootstrap,
		FailureDomain:     m.FailureDomain,
		KubernetesVersion: &version,
		ControlPlane:      m.ControlPlane,
	}
}

// reconcileInfraPool is the TerraformMachinePool controller.
func (p *play) reconcileInfraPool() bool {
	pool := p.w.Pool
	if pool == nil || pool.Infra.Gone || pool.Infra.Running != "" {
		return false
	}
	i := pool.Infra
	if i.Deleting {
		return p.destroyInfra(i, gateClusterOperation, p.clusterIdle)
	}
	if pool.Deleting || !p.machineReady(i, func() (bool, any) { return pool.Bootstrap != nil, pool }) {
		return false
	}
	if p.backsOff(i, OpApply) {
		return false
	}
	if p.restored(i) {
		return true
	}
	if in := p.poolInputs(pool); p.changed(i, in) {
		if !p.mayWrite(i) {
			return false
		}
		p.start(i, OpApply, in)
		return true
	}
	if i.Provisioned && !i.Outputs.Unsettled() {
		return i.settling && p.refreshAgain(i) || p.readFaulty(i)
	}
	return p.refreshPending(i)
}

func (p *play) poolInputs(pool *Pool) *contract.PoolInputs {
	version := pool.Version
	return &contract.PoolInputs{
		CommonInputs:          p.common(pool.Infra.Name),
		ClusterOutputs:        p.w.Infra.Cluster.Exports,
		MachinePoolName:       pool.Name,
		Replicas:              int64(pool.Replicas),
		Bootstrap:             *pool.Bootstrap,
		FailureDomains:        []string{},
		ClusterFailureDomains: domainNames(p.w.Cluster.FailureDomains),
		KubernetesVersion:     &version,
		NodeLabels:            map[string]string{"example.com/pool": pool.Name},
	}
}

func domainNames(domains []contract.FailureDomain) []string {
	names := make([]string, 0, len(domains))
	for _, d := range domains {
		names = append(names, d.Name)
	}
	return names
}

// destroyInfra destroys an object, or lets it go when nothing was ever applied.
func (p *play) destroyInfra(i *Infra, gate Gate, open func() (bool, any)) bool {
	if i.Inputs == nil {
		i.Gone = true
		p.tell(EventGone, "captf", i.Ref(), "is gone; nothing was ever applied")
		return true
	}
	if p.backsOff(i, OpDestroy) || !p.open(i, gate, open) {
		return false
	}
	p.start(i, OpDestroy, i.Inputs)
	return true
}

// refreshPending refreshes an object whose outputs are not complete yet, at
// the cadence of contract.md 14.2.
func (p *play) refreshPending(i *Infra) bool {
	gate := p.pendingGate(i)
	p.open(i, gate, func() (bool, any) { return false, nil })
	return p.refreshAgain(i)
}

// refreshAgain refreshes an object at the cadence of one that is pending, up to
// maxRefreshes times.
func (p *play) refreshAgain(i *Infra) bool {
	if i.Refreshes >= maxRefreshes {
		return false
	}
	if i.refreshAt == 0 {
		wait := contract.CadenceOf(i.Role).Wait(i.Refreshes)
		i.refreshAt = p.w.Now + wait
		p.eng.After(wait, func() {})
	}
	if p.w.Now < i.refreshAt {
		return false
	}
	i.refreshAt = 0
	p.start(i, OpRefresh, i.Inputs)
	return true
}

// pendingGate says what an object that was applied still waits for.
func (p *play) pendingGate(i *Infra) Gate {
	for _, v := range i.Violations.With(contract.ReasonPending) {
		switch {
		case i.Role == contract.RoleMachine && outputOf(v.Path) == "addresses":
			return gateAddresses
		case i.Role == contract.RoleMachine && outputOf(v.Path) == "provider_id":
			return gateProviderID
		}
	}
	if i.HealthOf().State == contract.HealthPending {
		switch i.Role {
		case contract.RoleCluster:
			return gateClusterProvisioned
		case contract.RoleMachine:
			return gateMachineHealth
		case contract.RoleMachinePool:
			return gatePoolHealth
		}
	}
	if i.Role == contract.RoleMachinePool {
		return gatePoolMembers
	}
	for _, v := range i.Violations.With(contract.ReasonPending) {
		return Gate{
			ID: "captf/output-pending", WaitsFor: "a value of the output " + outputOf(v.Path), Source: "contract.md 4",
			Role: i.Role, Output: outputOf(v.Path), Requirement: "contract/" + outputOf(v.Path), Remedy: "emit a value: null means not known yet",
		}
	}
	return gateClusterProvisioned
}
