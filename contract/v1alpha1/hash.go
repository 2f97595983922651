package v1alpha1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// hashScheme is the id of the way inputs are hashed. Anything that changes the
// bytes below needs a new one (B-346).
const hashScheme = "h2"

// members are the canonical JSON of the members of an object, by name.
type members map[string][]byte

// canonical returns the canonical JSON of each member.
func canonical(root string, tree map[string]any) (members, contract.Violations) {
	var vs contract.Violations
	out := make(members, len(tree))
	for name, value := range tree {
		raw, broken := contract.CanonicalJSON(root+"."+name, value)
		if broken != nil {
			vs = append(vs, *broken)
		}
		out[name] = raw
	}
	vs.Sort()
	return out, vs
}

// json returns the members as one canonical JSON object.
func (m members) json() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteByte(',')
		}
		// Names of inputs and variables are identifiers or were canonical before.
		key, _ := contract.CanonicalJSON("", name)
		b.Write(key)
		b.WriteByte(':')
		b.Write(m[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Hash implements contract.Definition.
func (d *definition) Hash(role contract.Role, values map[string]json.RawMessage, vars []contract.Variable) (contract.Hashes, contract.Violations) {
	spec, known := d.specs[role]
	if !known {
		return contract.Hashes{}, unknownRole(role)
	}
	var vs contract.Violations
	tree := make(map[string]any, len(values))
	for name, raw := range values {
		value, broken := contract.ParseJSON(inputPath(name), raw)
		if broken != nil {
			vs = append(vs, *broken)
		}
		tree[name] = value
	}
	inputs, broken := canonical("inputs", tree)
	vs = append(vs, broken...)
	userTree, broken := contract.ParseVariables(spec, vars)
	vs = append(vs, broken...)
	if len(vs) > 0 {
		vs.Sort()
		return contract.Hashes{}, vs
	}
	user, vs := canonical("variables", userTree)
	if len(vs) > 0 {
		return contract.Hashes{}, vs
	}
	return hashes(spec, tree, inputs, user, sensitiveNames(vars)), nil
}

// sensitiveNames returns the sorted names of the sensitive variables.
func sensitiveNames(vars []contract.Variable) []string {
	var names []string
	for _, v := range vars {
		if v.Sensitive {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

// hashes computes both hashes. tree and inputs hold the same values, parsed
// and as canonical JSON.
func hashes(spec contract.RoleSpec, tree map[string]any, inputs, user members, sensitive []string) contract.Hashes {
	hashed, approved := make(members, len(inputs)), make(members, len(inputs))
	for name, raw := range inputs {
		row, _ := spec.Input(name)
		if row.UnhashedIf != "" && flagAt(tree, row.UnhashedIf) {
			continue
		}
		hashed[name] = raw
		if !row.Rotates {
			approved[name] = raw
		}
	}
	h := contract.Hashes{Inputs: hash(spec.Role, hashed, user, sensitive)}
	h.Approval = h.Inputs
	if len(approved) != len(hashed) {
		h.Approval = hash(spec.Role, approved, user, sensitive)
	}
	return h
}

// flagAt returns the boolean at a dotted path, false when there is none.
func flagAt(tree map[string]any, path string) bool {
	parts := strings.Split(path, ".")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		tree, _ = tree[part].(map[string]any)
	}
	flag, _ := tree[parts[last]].(bool)
	return flag
}

func hash(role contract.Role, inputs, user members, sensitive []string) string {
	sum := sha256.Sum256(preimage(role, inputs, user, sensitive))
	return hashScheme + ":" + hex.EncodeToString(sum[:])
}

// preimage returns the bytes that are hashed: one canonical JSON object
// (B-346). Variables and sensitive names are there only if there are any, so
// that an object without them keeps its hash (B-341).
func preimage(role contract.Role, inputs, user members, sensitive []string) []byte {
	text := func(s string) []byte {
		raw, _ := contract.CanonicalJSON("", s)
		return raw
	}
	m := members{
		"contract": text(Version),
		"inputs":   inputs.json(),
		"role":     text(string(role)),
		"scheme":   text(hashScheme),
	}
	if len(user) > 0 {
		m["variables"] = user.json()
	}
	if len(sensitive) > 0 {
		m["sensitive"], _ = contract.CanonicalJSON("", texts(sensitive))
	}
	return m.json()
}
