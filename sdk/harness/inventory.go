package harness

import (
	"slices"
	"strings"
	"sync"

	"github.com/captf-toolkit/captf/contract"
)

// listed bounds how many addresses a result lists for one object.
const listed = 100

// inventory follows what module runs make. Drills run beside the story, so it
// is locked.
type inventory struct {
	mu      sync.Mutex
	objects map[string]*inventoried
}

type inventoried struct {
	role      contract.Role
	name      string
	runs      int
	created   int
	addresses map[string]bool
	remaining []string
}

// ran takes in one module run of the object.
func (v *inventory) ran(role contract.Role, name string, op Op, run *Run) {
	if run == nil || op == OpPlan {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.objects == nil {
		v.objects = map[string]*inventoried{}
	}
	key := runKey(role, name)
	o, ok := v.objects[key]
	if !ok {
		o = &inventoried{role: role, name: name, addresses: map[string]bool{}}
		v.objects[key] = o
	}
	o.runs++
	had := o.remaining
	o.remaining = nil
	for _, r := range run.Resources {
		o.remaining = append(o.remaining, r.Address)
	}
	if op == OpDestroy && !run.Failed {
		o.remaining = nil
	}
	slices.Sort(o.remaining)
	for _, c := range run.Changes {
		switch {
		case op != OpApply:
		case c.Action != ActionCreate && c.Action != ActionReplace:
		case run.Failed && (!slices.Contains(o.remaining, c.Address) || c.Action == ActionCreate && slices.Contains(had, c.Address)):
			// It was planned, but the run broke before.
		default:
			o.created++
			o.addresses[c.Address] = true
		}
	}
	if len(run.Changes) == 0 && run.Failed {
		// A create that broke midway says only what it left.
		for _, address := range o.remaining {
			if !slices.Contains(had, address) {
				o.created++
				o.addresses[address] = true
			}
		}
	}
}

// report returns the objects, sorted: those of the story first, clusters before
// machines before pools.
func (v *inventory) report(isProbe func(name string) bool) []Inventoried {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make([]Inventoried, 0, len(v.objects))
	for _, o := range v.objects {
		addresses := make([]string, 0, len(o.addresses))
		for address := range o.addresses {
			addresses = append(addresses, address)
		}
		slices.Sort(addresses)
		out = append(out, Inventoried{
			Object: o.role.Kind() + "/" + o.name, Role: o.role, Probe: isProbe(o.name), Runs: o.runs,
			Created: o.created, Addresses: addresses[:min(len(addresses), listed)],
			Remaining: len(o.remaining), RemainingAddresses: o.remaining[:min(len(o.remaining), listed)],
		})
	}
	roles := contract.Roles()
	slices.SortFunc(out, func(a, b Inventoried) int {
		if a.Probe != b.Probe {
			if a.Probe {
				return 1
			}
			return -1
		}
		if n := slices.Index(roles, a.Role) - slices.Index(roles, b.Role); n != 0 {
			return n
		}
		return strings.Compare(a.Object, b.Object)
	})
	return out
}
