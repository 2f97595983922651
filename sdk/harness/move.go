package harness

import "fmt"

// move moves the objects to another management cluster, as clusterctl move
// does: what is in specs, Secrets and annotations comes along, every status is
// lost (control-planes.md 7, K14).
func (p *play) move() {
	w := p.w
	for _, m := range w.Machines {
		if m.Node == nil || m.Deleting {
			p.fatal(fmt.Errorf("playing the step %s of scenario %s: clusterctl refuses to move, because %s has no nodeRef", p.step.ID, p.cfg.Scenario.ID, m.Ref()))
			return
		}
	}
	if !w.Cluster.InfrastructureProvisioned || !w.Cluster.ControlPlaneInitialized {
		p.fatal(fmt.Errorf("playing the step %s of scenario %s: clusterctl refuses to move a Cluster that is not provisioned or not initialised", p.step.ID, p.cfg.Scenario.ID))
		return
	}
	for _, i := range w.infras() {
		// Durable are the inputs, the hash of the newest apply, the state, and with that its outputs.
		i.Provisioned, i.Outputs, i.Cluster, i.Machine, i.Pool, i.Violations = false, nil, nil, nil, nil, nil
		i.Refreshes, i.refreshAt, i.settling, i.readyAt, i.unwellAt = 0, 0, false, 0, 0
		delete(p.blocks, i)
	}
	w.Cluster.InfrastructureProvisioned, w.Cluster.ControlPlaneInitialized, w.Cluster.FailureDomains = false, false, nil
	w.ControlPlane.Initialized, w.ControlPlane.Servers, w.Connected = false, nil, false
	for _, m := range w.Machines {
		m.Provisioned, m.Node = false, nil
	}
	if w.Pool != nil {
		w.Pool.Nodes = 0
	}
	p.writes = 0
	p.tell(EventAsked, "clusterctl", "Cluster/"+w.Cluster.Name, "has moved the objects: specs and Secrets are there, every status is empty")
}

// restored builds the status of an object that was moved anew, from its state and
// without a run.
func (p *play) restored(i *Infra) bool {
	if i.Outputs != nil || i.AppliedHash == "" || i.Run == nil {
		return false
	}
	p.decode(i, OpRefresh, i.Inputs, i.Run)
	if p.over() {
		return true
	}
	p.settleInfra(i, OpRefresh, i.Inputs)
	p.watchHealth(i, OpRefresh)
	return true
}

// moveDone judges that a move led to no write.
func (p *play) moveDone(step Step) {
	if !step.Move {
		return
	}
	if p.writes > 0 {
		p.rec.fail(idApply, "", fmt.Sprintf("%d objects were applied again after the move, although nothing had changed", p.writes))
		return
	}
	p.rec.pass(idApply, "", "after a move, with every status empty, nothing is applied again")
}
