package harness

import (
	"fmt"
	"slices"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Gates of Cluster API's own controllers.
var (
	gateNodeRef = Gate{
		ID: "capi/node-ref", WaitsFor: "a Node whose spec.providerID equals Machine.spec.providerID",
		Source: "control-planes.md 1", Role: contract.RoleMachine, Output: "provider_id", Requirement: "CP-040",
		Remedy: "emit exactly the string that the cloud controller manager (or kubelet --provider-id) writes to the Node",
	}
	gateWorkloadReachable = Gate{
		ID: "capi/workload-reachable", WaitsFor: "a connection to the workload cluster through the endpoint",
		Source: "control-planes.md 2.7", Retry: 30 * time.Second, Role: contract.RoleCluster, Output: "control_plane_endpoint", Requirement: "CP-021",
		Remedy: "make the endpoint reachable from the management cluster and from the nodes",
	}
	gateMachineInfrastructure = Gate{
		ID: "capi/machine-infrastructure", WaitsFor: "TerraformMachine.status.initialization.provisioned",
		Source: "control-planes.md 1.1 #6.5",
	}
	gateMachineSet = Gate{
		ID: "capi/machineset-preflight", WaitsFor: "a control plane that has a first Machine and is not being upgraded",
		Source: "control-planes.md 7", Retry: 15 * time.Second,
	}
	gatePoolNodes = Gate{
		ID: "capi/machinepool-nodes", WaitsFor: "a Node for every entry of MachinePool.spec.providerIDList",
		Source: "contract.md 11.2", Role: contract.RoleMachinePool, Output: "provider_id_list", Requirement: "CP-063",
		Remedy: "list every member that is not terminated, each exactly as its Node's spec.providerID",
	}
	gateDescendants = Gate{
		ID: "capi/descendants-gone", WaitsFor: "the deletion of worker Machines and MachinePools",
		Source: "control-planes.md 2.9", Retry: 5 * time.Second,
	}
	gateControlPlaneGone = Gate{
		ID: "capi/control-plane-gone", WaitsFor: "the deletion of the control plane",
		Source: "control-planes.md 2.9", Retry: 5 * time.Second,
	}
)

// Virtual times of what Cluster API does by itself.
const (
	drainTime      = 10 * time.Second
	nodeDeleteTime = 2 * time.Second
	ownerRefTime   = time.Second
	joinRetry      = 10 * time.Second
)

// reconcileCluster is Cluster API's Cluster controller.
func (p *play) reconcileCluster() bool {
	c, i := &p.w.Cluster, p.w.Infra
	if c.Gone {
		return false
	}
	if p.w.Spec.Deleted {
		return p.deleteCluster()
	}
	changed := false
	// One pass copies both; the spec is written before the status (util/patch of Cluster API).
	if i.Provisioned && !c.Endpoint.Valid() && p.infraEndpoint.Valid() {
		c.Endpoint = p.infraEndpoint
		p.tell(EventEndpointCopied, "cluster-api", "Cluster/"+c.Name, fmt.Sprintf("copies the endpoint %s:%d", c.Endpoint.Host, c.Endpoint.Port))
		changed = true
	}
	if i.Provisioned && !c.InfrastructureProvisioned {
		c.InfrastructureProvisioned = true
		p.tell(EventProvisioned, "cluster-api", "Cluster/"+c.Name, "infrastructure is provisioned")
		changed = true
	}
	if i.Cluster != nil && i.Provisioned {
		c.FailureDomains = i.Cluster.FailureDomains
	}
	if p.w.ControlPlane.Initialized && !c.ControlPlaneInitialized {
		c.ControlPlaneInitialized, p.initializedAt = true, p.w.Now
		p.tell(EventInitialized, "cluster-api", "Cluster/"+c.Name, "control plane is initialised")
		changed = true
	}
	return changed
}

// deleteCluster removes descendants, then the control plane, then the infrastructure.
func (p *play) deleteCluster() bool {
	w := p.w
	changed := false
	for _, m := range w.Workers() {
		changed = p.deleteMachine(m, "cluster-api") || changed
	}
	if w.Pool != nil && !w.Pool.Deleting {
		w.Pool.Deleting = true
		p.tell(EventDeleted, "cluster-api", w.Pool.Ref(), "is deleted")
		changed = true
	}
	if changed {
		return true
	}
	c := &w.Cluster
	if !p.open(c, gateDescendants, func() (bool, any) {
		if ms := w.Workers(); len(ms) > 0 {
			return false, ms[0]
		}
		if w.Pool != nil {
			return false, w.Pool
		}
		return true, nil
	}) {
		return false
	}
	if !w.ControlPlane.Deleting {
		w.ControlPlane.Deleting = true
		p.tell(EventDeleted, "cluster-api", p.controlPlaneRef(), "is deleted")
		return true
	}
	if !p.open(c, gateControlPlaneGone, func() (bool, any) {
		if ms := w.ControlPlaneMachines(); len(ms) > 0 {
			return false, ms[0]
		}
		return w.ControlPlane.Gone, nil
	}) {
		return false
	}
	if !w.Infra.Deleting {
		w.Infra.Deleting = true
		p.tell(EventDeleted, "cluster-api", w.Infra.Ref(), "is deleted")
		return true
	}
	if w.Infra.Gone {
		c.Gone = true
		p.tell(EventGone, "cluster-api", "Cluster/"+c.Name, "is gone")
		return true
	}
	return false
}

// workerSurge is how many workers a rollout adds, as MachineDeployments do by default.
const workerSurge = 1

// reconcileWorkers is a MachineDeployment with its MachineSets: all missing
// replicas are made in one pass, but for those that take the place of others.
func (p *play) reconcileWorkers() bool {
	w := p.w
	if w.Spec.Deleted {
		return false
	}
	if p.remediateWorkers() {
		return true
	}
	changed := false
	for workers := w.Workers(); len(workers) > w.Spec.Workers && !w.outdatedWorkers(); workers = workers[:len(workers)-1] {
		changed = p.deleteMachine(workers[len(workers)-1], "machineset") || changed // the newest, so that the story is the same again
	}
	missing := p.missingWorkers()
	if changed || missing <= 0 {
		return p.rollWorkers() || changed
	}
	if !p.open(&w.Spec, gateMachineSet, func() (bool, any) {
		// A control plane is provisioning until its status has the version of a Machine
		// (internal/contract IsProvisioning of Cluster API), not until it is initialised.
		if p.counted[true] == 0 {
			return false, &w.ControlPlane
		}
		for _, m := range w.ControlPlaneMachines() {
			if m.Version != w.Spec.Version {
				return false, m
			}
		}
		return true, nil
	}) {
		return false
	}
	for range missing {
		name := fmt.Sprintf("%s-md-%s", w.Cluster.Name, p.suffix())
		p.addMachine(&Machine{Name: name, Revision: w.Spec.WorkerRevision, Version: w.Spec.WorkerVersion}, name, "machineset")
	}
	return true
}

// missingWorkers is how many workers are to be made: a rollout makes one more
// than are asked for, and the next when one that is outdated is gone
// (machinedeployment/mdutil NewMSNewReplicas of Cluster API).
func (p *play) missingWorkers() int {
	w := p.w
	current, most := 0, w.Spec.Workers
	for _, m := range w.Workers() {
		if w.Outdated(m) {
			most = w.Spec.Workers + workerSurge
		} else {
			current++
		}
	}
	return min(w.Spec.Workers-current, most-len(w.Workers()))
}

// rollWorkers deletes an outdated worker when those in its place are there.
func (p *play) rollWorkers() bool {
	var oldest *Machine
	ready := 0
	for _, m := range p.w.Workers() {
		switch {
		case m.Deleting:
			return false
		case m.Node != nil:
			ready++
		case !p.w.Outdated(m):
			return false
		}
		if oldest == nil && p.w.Outdated(m) {
			oldest = m
		}
	}
	return oldest != nil && ready > p.w.Spec.Workers && p.deleteMachine(oldest, "machineset")
}

// addMachine creates a machine with its bootstrap config and TerraformMachine.
func (p *play) addMachine(m *Machine, infra, actor string) {
	m.Created = p.w.Now
	p.counted[m.ControlPlane]++
	m.Number = p.counted[m.ControlPlane]
	m.Infra = &Infra{Role: contract.RoleMachine, Name: infra}
	p.w.Machines = append(p.w.Machines, m)
	event := "is created"
	if m.FailureDomain != nil {
		event += " for failure domain " + *m.FailureDomain
	}
	p.record(StoryStep{At: p.w.Now.Seconds(), Type: EventCreated, Actor: actor, Object: m.Ref(), Event: event, With: m.Infra.Ref()})
}

// deleteMachine marks a machine for deletion.
func (p *play) deleteMachine(m *Machine, actor string) bool {
	if m.Deleting {
		return false
	}
	m.Deleting = true
	p.tell(EventDeleted, actor, m.Ref(), "is deleted")
	return true
}

// reconcileMachines is the Machine controller and the bootstrap provider.
func (p *play) reconcileMachines() bool {
	changed := false
	for _, m := range slices.Clone(p.w.Machines) {
		changed = p.reconcileMachine(m) || changed
	}
	return changed
}

func (p *play) reconcileMachine(m *Machine) bool {
	if m.Deleting {
		return p.finishMachine(m)
	}
	if m.Bootstrap == nil {
		for _, c := range p.cp.Bootstrap {
			if !p.openCheck(m, c, m) {
				return false
			}
		}
		if !m.Init {
			m.Server = p.server()
		}
		payload := p.cp.Payload(p.w, m, p.rng.Uint64())
		m.Bootstrap = &payload
		kind := "join"
		if m.Init {
			kind = "init"
		}
		p.tell(EventBootstrapData, "bootstrap", m.Ref(), fmt.Sprintf("has %s data (%s, %d bytes)", kind, payload.Format, len(payload.Data)))
		return true
	}
	if !m.Provisioned {
		if !p.open(m, gateMachineInfrastructure, func() (bool, any) { return m.Infra.Provisioned, m.Infra }) {
			return false
		}
		m.Provisioned, m.ProviderID = true, m.Infra.Machine.ProviderID
		p.tell(EventProvisioned, "cluster-api", m.Ref(), "is provisioned as "+m.ProviderID)
		return true
	}
	if m.Node != nil {
		return false
	}
	if !p.open(m, gateWorkloadReachable, func() (bool, any) { return p.apiUp(), p.initMachine() }) {
		return false
	}
	p.w.Connected = true
	var found *Node
	if !p.open(m, gateNodeRef, func() (bool, any) { found = p.nodeOf(m.ProviderID); return found != nil, nil }) {
		return false
	}
	m.Node = found
	p.record(StoryStep{At: p.w.Now.Seconds(), Type: EventNodeRef, Actor: "cluster-api", Object: m.Ref(), Event: "is Node " + found.Name, With: "Node/" + found.Name})
	return true
}

// initMachine returns the machine that the workload API is waited for from; nil
// when there is none.
func (p *play) initMachine() any {
	for _, m := range p.w.ControlPlaneMachines() {
		if !m.Provisioned {
			return m.Infra
		}
	}
	return nil
}

func (p *play) nodeOf(providerID string) *Node {
	for _, n := range p.w.Nodes {
		if n.ProviderID == providerID {
			return n
		}
	}
	return nil
}

// boot lets the instance behind a machine start and join, once its apply has ended.
func (p *play) boot(m *Machine) {
	least := p.cp.JoinTime
	if m.Init {
		least = p.cp.InitTime
	}
	takes := least + p.jitter(least)
	gone := func() bool { return m.Infra.Gone || m.Infra.Deleting }
	if m.Init {
		p.eng.After(apiTime(takes), func() {
			if !gone() && m.silent == 0 && p.registers(m) {
				p.serve(m)
			}
		})
	}
	var join func()
	join = func() {
		if gone() {
			return
		}
		if m.silent > 0 {
			return // its instance is gone
		}
		if !p.registers(m) {
			p.eng.After(joinRetry, join)
			return
		}
		if r := p.connects(m); !r.OK {
			p.unreached(m, r)
			p.eng.After(joinRetry, join)
			return
		}
		m.stuck = balancer.Reach{}
		node := &Node{Name: m.Name, ProviderID: p.nodeProviderID(m), Joined: p.w.Now}
		p.w.Nodes = append(p.w.Nodes, node)
		p.w.Started = p.w.Started || m.Init
		p.tell(EventNodeJoined, "node", "Node/"+node.Name, "joins as "+node.ProviderID)
		if m.ControlPlane {
			p.serve(m)
		}
	}
	p.eng.After(takes, join)
}

// deletion stages of every machine, after those of the control plane.
const (
	stageDrain = iota
	stagePreTerminate
	stageInfrastructure
	stageNode
	stageGone
)

// finishMachine takes a deleting machine one stage further (control-planes.md 2.5).
func (p *play) finishMachine(m *Machine) bool {
	if m.busy {
		return false
	}
	// Nothing is drained, and no etcd cared for, when the control plane itself goes (control-planes.md 2.9).
	wholesale := p.w.Spec.Deleted || p.w.ControlPlane.Deleting
	switch m.Stage {
	case stageDrain:
		if m.Node == nil || wholesale {
			m.Stage++
			return true
		}
		p.stages(m, p.preDrain(m), EventPreDrain, func() {
			p.after(m, drainTime, func() {
				m.Stage++
				p.tell(EventDrained, "cluster-api", m.Ref(), "is drained")
			})
		})
	case stagePreTerminate:
		if !m.ControlPlane || wholesale || len(p.w.ControlPlaneMachines()) == 1 || m.HookRemoved || m.Node == nil {
			m.Stage++
			return true
		}
		p.stages(m, p.cp.PreTerminate, EventPreTerminate, func() {
			m.HookRemoved = true
			m.busy = false
		})
	case stageInfrastructure:
		if !m.Infra.Deleting {
			m.Infra.Deleting = true
			return true
		}
		if !m.Infra.Gone {
			return false
		}
		m.Stage++
		return true
	case stageNode:
		p.after(m, nodeDeleteTime, func() {
			p.removeNode(m)
			m.Stage++
		})
	case stageGone:
		p.removeMachine(m)
		p.tell(EventGone, "cluster-api", m.Ref(), "is gone")
		return true
	}
	return false
}

// preDrain returns the control plane's stages before a machine is drained.
func (p *play) preDrain(m *Machine) []Stage {
	if !m.ControlPlane || m.HookRemoved {
		return nil
	}
	return p.cp.PreDrain
}

// stages goes through a control plane's stages one after the other; the machine
// is busy until then has run.
func (p *play) stages(m *Machine, stages []Stage, t EventType, then func()) {
	if len(stages) == 0 {
		then()
		return
	}
	stage := stages[0]
	if stage.When != nil && !stage.When(p.w) {
		p.stages(m, stages[1:], t, then)
		return
	}
	m.busy = true
	p.eng.After(stage.Takes, func() {
		p.tell(t, p.cp.Name, m.Ref(), stage.Event)
		if stage.Stops {
			p.stopServing(m) // etcd and the API server of the node stop here
		}
		p.stages(m, stages[1:], t, then)
	})
}

// after marks the machine busy for a while.
func (p *play) after(m *Machine, d time.Duration, fn func()) {
	m.busy = true
	p.eng.After(d, func() {
		m.busy = false
		fn()
	})
}

func (p *play) removeNode(m *Machine) {
	p.stopServing(m)
	if m.Node == nil {
		return
	}
	for n, node := range p.w.Nodes {
		if node == m.Node {
			p.w.Nodes = append(p.w.Nodes[:n], p.w.Nodes[n+1:]...)
			return
		}
	}
}

func (p *play) removeMachine(m *Machine) {
	for n, other := range p.w.Machines {
		if other == m {
			p.w.Machines = append(p.w.Machines[:n], p.w.Machines[n+1:]...)
			delete(p.blocks, m)
			delete(p.blocks, m.Infra)
			return
		}
	}
}

// reconcilePool is the MachinePool controller and its bootstrap provider.
func (p *play) reconcilePool() bool {
	w := p.w
	if w.Pool == nil {
		if !p.hasPool || w.Spec.Deleted || w.Spec.PoolSize == 0 || p.poolMade {
			return false
		}
		name := w.Cluster.Name + "-mp"
		w.Pool = &Pool{Name: name, Replicas: w.Spec.PoolSize, Version: w.Spec.WorkerVersion,
			Infra: &Infra{Role: contract.RoleMachinePool, Name: name}}
		p.poolMade = true
		p.record(StoryStep{
			At: w.Now.Seconds(), Type: EventCreated, Actor: "cluster-api", Object: w.Pool.Ref(), Event: fmt.Sprintf("is created with %d replicas", w.Pool.Replicas), With: w.Pool.Infra.Ref(),
		})
		return true
	}
	pool := w.Pool
	if pool.Deleting {
		if !pool.Infra.Deleting {
			pool.Infra.Deleting = true
			return true
		}
		if pool.Infra.Gone {
			w.Pool = nil
			p.tell(EventGone, "cluster-api", pool.Ref(), "is gone")
			return true
		}
		return false
	}
	if p.upgradePool() {
		return true
	}
	if pool.Bootstrap == nil {
		for _, c := range p.cp.PoolBootstrap {
			if !p.openCheck(pool, c, nil) {
				return false
			}
		}
		pool.Server = p.server()
		payload := p.cp.Payload(w, nil, p.rng.Uint64())
		pool.Bootstrap = &payload
		p.tell(EventBootstrapData, "bootstrap", pool.Ref(), fmt.Sprintf("has join data (%s, %d bytes)", payload.Format, len(payload.Data)))
		return true
	}
	return p.countPoolNodes()
}

// upgradePool gives the pool the version of workers, once the control plane has
// it.
func (p *play) upgradePool() bool {
	w := p.w
	pool := w.Pool
	if pool.Version == w.Spec.WorkerVersion {
		return false
	}
	for _, m := range w.ControlPlaneMachines() {
		if w.Outdated(m) || m.Node == nil || m.Deleting {
			return false
		}
	}
	pool.Version = w.Spec.WorkerVersion
	p.tell(EventAsked, "topology", pool.Ref(), "is upgraded to "+pool.Version)
	return true
}

// countPoolNodes sets node references of pool members that have joined.
func (p *play) countPoolNodes() bool {
	pool := p.w.Pool
	if !pool.Infra.Provisioned || !p.w.Connected {
		return false
	}
	found := 0
	for _, id := range pool.Infra.Pool.ProviderIDList {
		if p.nodeOf(id) != nil {
			found++
		}
	}
	changed := found != pool.Nodes
	if changed {
		pool.Nodes = found
		p.tell(EventNodeRef, "cluster-api", pool.Ref(), fmt.Sprintf("has %d Nodes", found))
		if found > 0 && !p.rotating && p.cp.Rotates > 0 {
			p.rotating = true
			p.eng.After(p.cp.Rotates, p.rotate)
		}
	}
	if found < pool.Replicas {
		p.open(pool, gatePoolNodes, func() (bool, any) { return false, nil })
	} else {
		p.opened(pool, gatePoolNodes)
		delete(p.blocks, pool)
	}
	return changed
}

// rotate rewrites the pool's bootstrap data, as the bootstrap provider does
// when its token has lived half its time (contract.md 11.5).
func (p *play) rotate() {
	pool := p.w.Pool
	if pool == nil || pool.Deleting || p.w.Spec.Deleted {
		return
	}
	p.rewriteToken()
	p.eng.After(p.cp.Rotates, p.rotate)
}

// rewriteToken gives the pool other bootstrap data.
func (p *play) rewriteToken() {
	pool := p.w.Pool
	if pool == nil {
		return
	}
	payload := p.cp.Payload(p.w, nil, p.rng.Uint64())
	pool.Bootstrap = &payload
	pool.Rotation++
	p.tell(EventTokenRotated, "bootstrap", pool.Ref(), "has a new bootstrap token")
}

// bootPool lets the members that have no Node yet start and join.
func (p *play) bootPool(ids []string) {
	for n, id := range ids {
		if p.booted[id] {
			continue
		}
		p.booted[id] = true
		name := fmt.Sprintf("%s-%d", p.w.Pool.Name, n)
		var join func()
		join = func() {
			if p.w.Pool == nil || p.w.Pool.Infra.Deleting {
				return
			}
			if r := p.joins(nil, p.w.Pool.Server); !r.OK {
				p.eng.After(joinRetry, join)
				return
			}
			p.w.Nodes = append(p.w.Nodes, &Node{Name: name, ProviderID: id, Joined: p.w.Now})
			p.tell(EventNodeJoined, "node", "Node/"+name, "joins as "+id)
		}
		p.eng.After(p.cp.JoinTime+p.jitter(p.cp.JoinTime), join)
	}
}
