package harness

import (
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

// unwell describes a health that keeps an object from being Ready; it returns
// "" for one that does not (contract.md 8).
func unwell(h contract.Health) string {
	switch {
	case h.Condition().Status != contract.ConditionFalse:
		return ""
	case h.State == contract.HealthRunning:
		return "running with healthy false"
	}
	return string(h.State)
}

// unwellRows say what an object that is not Ready means for its cluster, and
// which requirement asks for it to be.
var unwellRows = map[contract.Role]struct{ id, consequence string }{
	contract.RoleCluster: {
		idContract + "health", "no MachineHealthCheck of the cluster looks at any machine",
	},
	contract.RoleMachine: {
		"CP-054", "its Machine never becomes Ready or Available, and whatever remediates unhealthy machines replaces it, and then its replacement",
	},
	contract.RoleMachinePool: {
		idContract + "health", "its MachinePool's infrastructure never becomes ready",
	},
}

// judgeFirstHealth judges the health of a cluster before any machine exists:
// it must be well without a backend (CP-006).
func (p *play) judgeFirstHealth(i *Infra) {
	h := i.HealthOf()
	state := unwell(h)
	p.rec.add(judge(state == "", "CP-006", i.Role,
		fmt.Sprintf("health is %s before any machine exists, so %s is Ready=False/NotReady (%s), and %s",
			state, i.Ref(), h.Condition().Reason, unwellRows[i.Role].consequence),
		fmt.Sprintf("health is %s before any machine exists", h.State)))
}

// judgeHealth judges the health that a provisioned object reports after a
// successful apply. One that is not well yet is refreshed as often as one that
// is pending, before it is blamed: an instance may be starting.
func (p *play) judgeHealth(i *Infra) {
	i.settling = false
	h, row := i.HealthOf(), unwellRows[i.Role]
	if !i.Provisioned || i.Deleting || i.fault != "" {
		return
	}
	if h.Condition().Status == contract.ConditionUnknown {
		p.noteUnknownHealth(i)
		return
	}
	state := unwell(h)
	if state == "" || p.rec.hasFailed(row.id) || i.Role == contract.RoleCluster && p.rec.hasFailed("CP-006") {
		return
	}
	if i.Refreshes < maxRefreshes {
		i.settling = true
		return
	}
	p.rec.fail(row.id, i.Role, fmt.Sprintf("health is %s after a successful apply and after %d refreshes, so %s is Ready=False/NotReady (%s): %s",
		state, i.Refreshes, i.Ref(), h.Condition().Reason, row.consequence), p.declared(i.Role, "health")...)
}

// noteUnknownHealth says what the contract's word for a health that cannot be
// observed does.
func (p *play) noteUnknownHealth(i *Infra) {
	consequence := "nothing is ever remediated because of it"
	if i.Role == contract.RoleCluster {
		consequence = unwellRows[i.Role].consequence
	}
	place := ""
	for _, at := range p.declared(i.Role, "health") {
		place = at
	}
	p.rec.note(i.Role, place, "health is unknown, so %s objects are Ready=Unknown: %s; a module that cannot observe health may report running and healthy",
		i.Role.Kind(), consequence)
}

// declared returns where the output is declared; nothing when it is not.
func (p *play) declared(role contract.Role, output string) []string {
	if at, ok := p.cfg.Modules.Module(role).Outputs[output]; ok {
		return []string{at}
	}
	return nil
}
