package image

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/captf-toolkit/captf/contract"
)

// Key is the key of a label.
type Key string

// The labels of CAPTF (image.md 4). They tell people and controllers about an
// image; none changes what a Job runs.
const (
	LabelContract        Key = "io.captf.contract"
	LabelRole            Key = "io.captf.role"
	LabelRuntime         Key = "io.captf.runtime"
	LabelRuntimeVersion  Key = "io.captf.runtime.version"
	LabelCapacity        Key = "io.captf.capacity"
	LabelNodeInfo        Key = "io.captf.node-info"
	LabelVariablesSchema Key = "io.captf.variables-schema"
)

// MaxLabel is the longest value of a label that has no limit of its own, in
// bytes. The sheets state none; a configuration with larger ones is a mistake.
const MaxLabel = 32768

// Label describes one label.
type Label struct {
	Key Key
	// Roles are those whose images the label has an effect for; empty means all.
	Roles []contract.Role
	// Base tells that a base image sets it and module images inherit it.
	Base bool
	// Max is the longest value in bytes.
	Max int
	// Doc says what it holds.
	Doc string

	check func(at, value string) contract.Violations
}

// Labels returns the labels of CAPTF. Every one is the same on all platforms of
// an index: the same module is in all of them, and a controller may read any.
func Labels() []Label {
	return []Label{
		{Key: LabelContract, Base: true, Max: 63, Doc: "version of the module contract", check: checkToken},
		{Key: LabelRole, Max: 63, Doc: "role of the module: " + contract.RoleNames(), check: checkRole},
		{Key: LabelRuntime, Base: true, Max: 63, Doc: "the runtime: tofu or terraform", check: checkRuntime},
		{Key: LabelRuntimeVersion, Base: true, Max: 63, Doc: "version of the runtime, without a v", check: checkToken},
		{Key: LabelCapacity, Roles: []contract.Role{contract.RoleMachine}, Max: MaxLabel,
			Doc: "JSON object of resource names and quantities, for scaling from zero", check: checkCapacity},
		{Key: LabelNodeInfo, Roles: []contract.Role{contract.RoleMachine}, Max: MaxLabel,
			Doc: "JSON object with architecture and operatingSystem of the node", check: checkNodeInfo},
		{Key: LabelVariablesSchema, Max: MaxVariablesSchema,
			Doc: "JSON Schema of the variables that a user can set", check: checkSchema},
	}
}

// FindLabel returns the label with the key.
func FindLabel(key Key) (Label, bool) {
	all := Labels()
	i := slices.IndexFunc(all, func(l Label) bool { return l.Key == key })
	if i < 0 {
		return Label{}, false
	}
	return all[i], true
}

// For tells whether the label has an effect for images of the role.
func (l Label) For(role contract.Role) bool {
	return len(l.Roles) == 0 || slices.Contains(l.Roles, role)
}

// Check returns what is wrong with a value of the label.
func (l Label) Check(value string) contract.Violations {
	at := l.Key.path()
	if len(value) > l.Max {
		return contract.Violations{invalid(at, contract.RuleSize, "has %d bytes; at most %d are allowed", len(value), l.Max)}
	}
	vs := l.check(at, value)
	vs.Sort()
	return vs
}

// CheckLabels returns what is wrong with the labels of CAPTF among the labels
// of an image. It does not say that one is missing: every label is optional.
func CheckLabels(labels map[string]string) contract.Violations {
	var vs contract.Violations
	for _, l := range Labels() {
		if value, ok := labels[string(l.Key)]; ok {
			vs = append(vs, l.Check(value)...)
		}
	}
	vs.Sort()
	return vs
}

func (k Key) path() string { return "labels[" + string(k) + "]" }

func invalid(at, rule, format string, args ...any) contract.Violation {
	return contract.Violation{Path: at, Rule: rule, Reason: contract.ReasonInvalid, Message: fmt.Sprintf(format, args...)}
}

func checkToken(at, value string) contract.Violations {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return contract.Violations{invalid(at, contract.RulePattern, "must be one word of printable ASCII, such as v1alpha1 or 1.12.6")}
	}
	return nil
}

func checkRole(at, value string) contract.Violations {
	if _, err := contract.ParseRole(value); err != nil {
		return contract.Violations{invalid(at, contract.RuleEnum, "must be one of %s", contract.RoleNames())}
	}
	return nil
}

func checkRuntime(at, value string) contract.Violations {
	if _, err := ParseRuntime(value); err != nil {
		return contract.Violations{invalid(at, contract.RuleEnum, "must be tofu or terraform")}
	}
	return nil
}

func checkCapacity(_, value string) contract.Violations {
	_, vs := ParseCapacity(value)
	return vs
}

func checkNodeInfo(_, value string) contract.Violations {
	_, vs := ParseNodeInfo(value)
	return vs
}

func checkSchema(_, value string) contract.Violations {
	_, vs := ParseSchema(value)
	return vs
}

// Capacity is what a node of a machine image has, by resource name.
type Capacity map[string]resource.Quantity

// ParseCapacity reads the label io.captf.capacity (lint.md 5.2): a JSON object
// that is not empty, whose keys are resource names and whose values are
// quantities written as strings.
func ParseCapacity(label string) (Capacity, contract.Violations) {
	at := LabelCapacity.path()
	members, vs := parseObject(at, label, `such as {"cpu":"4","memory":"16Gi"}`)
	if vs != nil {
		return nil, vs
	}
	out := make(Capacity, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		here := at + "." + name
		if errs := content.IsLabelKey(name); len(errs) > 0 {
			vs = append(vs, invalid(here, contract.RuleName, "is not the name of a resource; names are such as cpu, memory or vendor.example/gpu"))
		}
		text, ok := members[name].(string)
		if !ok {
			vs = append(vs, invalid(here, contract.RuleType, `must be a string, such as "16Gi"`))
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			vs = append(vs, invalid(here, contract.RulePattern, `is no quantity; quantities are such as "4", "500m" or "16Gi"`))
			continue
		}
		if q.Sign() < 0 {
			vs = append(vs, invalid(here, contract.RuleMinimum, "is negative"))
			continue
		}
		out[name] = q
	}
	if len(vs) > 0 {
		vs.Sort()
		return nil, vs
	}
	return out, nil
}

// Label returns the capacity as the value of the label, the same for the same capacity.
func (c Capacity) Label() string {
	parts := make([]string, 0, len(c))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		q := c[name]
		parts = append(parts, fmt.Sprintf("%q:%q", name, q.String()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// NodeInfo describes the nodes that a machine image makes.
type NodeInfo struct {
	// Architecture is amd64, arm64, s390x, ppc64le, or empty.
	Architecture string `json:"architecture,omitempty"`
	// OperatingSystem is such as linux, or empty.
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// Architectures returns the architectures that a node may have (lint.md 5.2).
func Architectures() []string { return []string{"amd64", "arm64", "s390x", "ppc64le"} }

// ParseNodeInfo reads the label io.captf.node-info (lint.md 5.2): at least one
// of architecture and operatingSystem, and no other key.
func ParseNodeInfo(label string) (NodeInfo, contract.Violations) {
	at := LabelNodeInfo.path()
	members, vs := parseObject(at, label, `such as {"architecture":"amd64","operatingSystem":"linux"}`)
	if vs != nil {
		return NodeInfo{}, vs
	}
	var out NodeInfo
	for _, name := range slices.Sorted(maps.Keys(members)) {
		here := at + "." + name
		text, ok := members[name].(string)
		switch {
		case name == "architecture":
			if !slices.Contains(Architectures(), text) {
				vs = append(vs, invalid(here, contract.RuleEnum, "must be one of %s", join(Architectures())))
			}
			out.Architecture = text
		case name == "operatingSystem":
			if !ok || text == "" {
				vs = append(vs, invalid(here, contract.RuleType, `must be a string that is not empty, such as "linux"`))
			}
			out.OperatingSystem = text
		default:
			vs = append(vs, invalid(here, contract.RuleAdditional, "is not known; the keys are architecture and operatingSystem"))
		}
	}
	if len(vs) > 0 {
		vs.Sort()
		return NodeInfo{}, vs
	}
	return out, nil
}

// parseObject reads a JSON object that is not empty.
func parseObject(at, label, example string) (map[string]any, contract.Violations) {
	value, broken := contract.ParseJSON(at, []byte(label))
	if broken != nil {
		return nil, contract.Violations{*broken}
	}
	members, ok := value.(map[string]any)
	if !ok || len(members) == 0 {
		return nil, contract.Violations{invalid(at, contract.RuleType, "must be a JSON object that is not empty, %s", example)}
	}
	return members, nil
}

func join(list []string) string { return strings.Join(list, ", ") }
