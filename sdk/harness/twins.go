package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// maxClusterName is the longest name of a Cluster: Cluster API puts it into labels.
const maxClusterName = 63

// twin makes a name as long as the API server accepts, that begins unlike the
// story's and ends with the given text: two twins of one name differ in nothing
// but their end.
func twin(name, end string, length int) string {
	name = "twin-" + name
	return name[:min(len(name), length-len(end))] + strings.Repeat("x", max(0, length-len(name)-len(end))) + end
}

// renameTwin gives an object, its owner, and the cluster if it is one, names
// that differ from those of another twin only at their end.
func renameTwin(in contract.Inputs, end string) {
	rename(in, func(name string) string { return twin(name, end, longName) })
	if in.Role() == contract.RoleCluster {
		c := in.Common()
		c.Cluster.Name = twin(c.Cluster.Name, end, maxClusterName)
	}
}

// fact is a value that a plan knows and that no two objects may share.
type fact struct {
	// id is what is broken where two objects share it.
	id string
	// where is the output, or the resource and the path of the attribute.
	where string
}

// endpointHost is the fact that tells of a cluster's endpoint.
const endpointHost = "control_plane_endpoint.host"

const remedyTwins = "where a name has to be cut or changed, append a hash of the namespace and the full name, as by substr(sha256(\"${var.captf_object.namespace}/${var.captf_object.name}\"), 0, 8)"

// judgeTwins plans an object under names that differ only at their end, and
// under one name in two namespaces, and judges that what is made from the names
// differs: provider ids (CP-040, CP-063), hostnames (CP-051), addresses (CP-042),
// and the names of resources (CP-053). Only what changes with the name counts. base
// is the plan of the inputs themselves, nil when it is to be made. It tells that
// names that differ only at their end were planned and stay apart.
func judgeTwins[T any, P inputsOf[T]](d *drill, object string, in T, base *Run) bool {
	if base == nil {
		base = d.values(object, P(&in))
	}
	one, two, away := in, in, in
	renameTwin(P(&one), "a")
	renameTwin(P(&two), "b")
	move(P(&away))
	var all []map[fact]string
	for _, inputs := range []*T{&one, &two, &away} {
		if base == nil || base.Failed {
			return false // what fails here fails among what is unusual too, and is blamed there
		}
		run := d.values(object, P(inputs))
		if run == nil || run.Failed {
			return false
		}
		all = append(all, d.facts(run))
	}
	ours, first, second, elsewhere := d.facts(base), all[0], all[1], all[2]
	cut, shared := map[string][]string{}, map[string][]string{}
	var named []string
	for f, value := range first {
		here, known := ours[f]
		if !known || here == value {
			continue // not made from the name
		}
		if second[f] == value {
			cut[f.id] = append(cut[f.id], f.where)
		}
		if elsewhere[f] != here {
			continue
		}
		switch f.where {
		case "provider_id", "provider_id_list":
			shared[f.id] = append(shared[f.id], f.where)
		case endpointHost: // addresses of two networks may be equal
		default:
			if f.id == d.nameID() && !d.identity(base, f.where, P(&in)) {
				named = append(named, f.where)
			}
		}
	}
	kind := d.role.Kind()
	for _, id := range slices.Sorted(maps.Keys(cut)) {
		d.add(finding{id: id, role: d.role, status: StatusFailed, remedy: remedyTwins,
			reason: fmt.Sprintf("two %s objects whose long names differ only at their end get the same %s", kind, join(cut[id]))})
	}
	for _, id := range slices.Sorted(maps.Keys(shared)) {
		d.add(finding{id: id, role: d.role, status: StatusFailed, remedy: remedyTwins,
			reason: fmt.Sprintf("two %s objects of one name in two namespaces get the same %s", kind, join(shared[id]))})
	}
	if len(named) > 0 && len(shared) == 0 {
		d.notes = append(d.notes, Note{Role: d.role, Place: d.p.cfg.Modules.Module(d.role).Variables["captf_object"],
			Message: fmt.Sprintf("two %s objects of one name in two namespaces get the same %s: where the cloud wants such names to be unique, make a hash of the namespace part of it", kind, join(named))})
	}
	return len(cut) == 0
}

func join(places []string) string {
	slices.Sort(places)
	return strings.Join(places, ", ")
}

// nameID is what a module breaks that gives two objects resources of one name.
func (d *drill) nameID() string {
	if d.role == contract.RoleMachine {
		return "CP-053"
	}
	return idContract + "captf_object"
}

// facts collects what no two objects may share from a plan.
func (d *drill) facts(run *Run) map[fact]string {
	found := map[fact]string{}
	walkJSON(run.Planned, func(path []string, value any) {
		text, ok := value.(string)
		if !ok || text == "" || len(path) < 3 || path[1] != "values" || slices.ContainsFunc(path[2:], isLabel) {
			return
		}
		where := placeOfAttribute(path)
		switch key := path[len(path)-1]; {
		case key == "name":
			found[fact{d.nameID(), where}] = text
		case d.role == contract.RoleMachine && slices.Contains(hostnameAttributes, key):
			found[fact{"CP-051", where}] = text
		}
	})
	output := func(name string, into any) bool {
		raw, ok := run.PlannedOutputs[name]
		return ok && json.Unmarshal(raw, into) == nil // what cannot be decoded is reported after the apply
	}
	var id string
	if output("provider_id", &id) && id != "" {
		found[fact{map[bool]string{true: "CP-040", false: idContract + "provider_id"}[d.role == contract.RoleMachine], "provider_id"}] = id
	}
	var members []string
	if output("provider_id_list", &members) && len(members) > 0 {
		found[fact{"CP-063", "provider_id_list"}] = strings.Join(members, "\n")
	}
	var endpoint contract.Endpoint
	if output("control_plane_endpoint", &endpoint) && endpoint.Host != "" {
		found[fact{d.nameID(), endpointHost}] = endpoint.Host
	}
	var addresses []contract.Address
	if output("addresses", &addresses) {
		for n, a := range addresses {
			where := fmt.Sprintf("addresses[%d], %s", n, a.Type)
			switch a.Type {
			case contract.AddressHostname:
				found[fact{"CP-051", where}] = a.Address
			case contract.AddressInternalIP:
				found[fact{"CP-042", where}] = a.Address
			}
		}
	}
	return found
}

// isLabel tells that an attribute holds labels, which need not be unique.
func isLabel(step string) bool {
	step = strings.ToLower(step)
	return strings.Contains(step, "tag") || strings.Contains(step, "label") && step != "hostname_label" || strings.Contains(step, "metadata") || strings.Contains(step, "annotation")
}

// placeOfAttribute writes the path of a planned attribute, such as
// "input.name of terraform_data.instance".
func placeOfAttribute(path []string) string {
	var b strings.Builder
	for n, step := range path[2:] {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if n > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String() + " of " + path[0]
}

// identity tells that a name stands unchanged beside a namespace, as in
// captf_object: then it is the two together that must be unique.
func (d *drill) identity(run *Run, where string, in contract.Inputs) bool {
	names := []string{in.Common().Object.Name, in.Common().Cluster.Name}
	switch in := in.(type) {
	case *contract.MachineInputs:
		names = append(names, in.MachineName)
	case *contract.PoolInputs:
		names = append(names, in.MachinePoolName)
	}
	found := false
	walkJSON(run.Planned, func(path []string, value any) {
		object, ok := value.(map[string]any)
		if !ok || len(path) < 2 || placeOfAttribute(append(slices.Clone(path), "name")) != where {
			return
		}
		name, isText := object["name"].(string)
		_, beside := object["namespace"].(string)
		found = found || isText && beside && slices.Contains(names, name)
	})
	return found
}
