package v1alpha1_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
)

// valueOf draws a valid value of a shape.
func valueOf(t *rapid.T, s contract.Shape) any {
	if s.Nullable && rapid.Bool().Draw(t, "null") {
		return nil
	}
	switch s.Kind {
	case contract.KindString:
		return textOf(t, s)
	case contract.KindInteger:
		lower, upper := int64(-1<<62), int64(1<<62)
		if s.Min != nil {
			lower = *s.Min
		}
		if s.Max != nil {
			upper = *s.Max
		}
		return json.Number(strconv.FormatInt(rapid.Int64Range(lower, upper).Draw(t, "integer"), 10))
	case contract.KindBool:
		return rapid.Bool().Draw(t, "bool")
	case contract.KindList:
		items := []any{}
		for range rapid.IntRange(s.MinLength, 3).Draw(t, "items") {
			items = append(items, valueOf(t, *s.Elem))
		}
		return uniqueItems(items, s.UniqueBy)
	case contract.KindMap:
		members := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members[rapid.String().Draw(t, "key")] = valueOf(t, *s.Elem)
		}
		return members
	case contract.KindObject:
		members := map[string]any{}
		for _, a := range s.Attributes {
			if !a.Optional || rapid.Bool().Draw(t, "present") {
				members[a.Name] = valueOf(t, a.Shape)
			}
		}
		return members
	default:
		return anyOf(t, 3)
	}
}

func textOf(t *rapid.T, s contract.Shape) string {
	if len(s.Enum) > 0 {
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	}
	if s.Format == "base64" {
		// Not drawn from the pattern, which accepts stray bits in the padding.
		return base64.StdEncoding.EncodeToString(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}
	longest := s.MaxLength
	if longest == 0 {
		longest = 20
	}
	return rapid.StringOfN(rapid.Rune(), s.MinLength, min(longest, 20), -1).Draw(t, "text")
}

func uniqueItems(items []any, by string) []any {
	if by == "" {
		return items
	}
	seen := map[any]bool{}
	return slices.DeleteFunc(items, func(item any) bool {
		key := item.(map[string]any)[by]
		taken := seen[key]
		seen[key] = true
		return taken
	})
}

// anyOf draws a value that is not null at the top and holds whole numbers only.
func anyOf(t *rapid.T, depth int) any {
	kinds := []string{"text", "number", "bool"}
	if depth > 0 {
		kinds = append(kinds, "list", "object")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "text":
		return rapid.String().Draw(t, "text")
	case "number":
		return json.Number(rapid.StringMatching(`0|-?[1-9][0-9]{0,30}`).Draw(t, "number"))
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "list":
		items := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, anyOf(t, depth-1))
		}
		return append(items, nil)
	default:
		members := map[string]any{"null": nil}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members[rapid.String().Draw(t, "key")] = anyOf(t, depth-1)
		}
		return members
	}
}

func canonical(t rapid.TB, value any) json.RawMessage {
	raw, broken := contract.CanonicalJSON("", value)
	if broken != nil {
		t.Fatal(broken)
	}
	return raw
}

// inputsOf draws valid inputs of a role as plain data.
func inputsOf(t *rapid.T, role contract.Role) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, in := range v1alpha1.Definition().Spec(role).Inputs {
		out[in.Name] = canonical(t, valueOf(t, in.Shape))
	}
	// Tags repeat what other inputs say.
	var cluster, object struct{ Name, Namespace string }
	var tags map[string]string
	for name, into := range map[string]any{"captf_cluster": &cluster, "captf_object": &object, "captf_tags": &tags} {
		if err := json.Unmarshal(out[name], into); err != nil {
			t.Fatal(err)
		}
	}
	tags[v1alpha1.TagCluster], tags[v1alpha1.TagName], tags[v1alpha1.TagNamespace] = cluster.Name, object.Name, object.Namespace
	members := map[string]any{}
	for key, value := range tags {
		members[key] = value
	}
	out["captf_tags"] = canonical(t, members)
	return out
}

func variablesOf(t *rapid.T) []contract.Variable {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`user_[a-z0-9-]{1,5}`), 0, 3, rapid.ID).Draw(t, "names")
	var vars []contract.Variable
	for _, name := range names {
		vars = append(vars, contract.Variable{
			Name: name, Value: canonical(t, anyOf(t, 2)), Sensitive: rapid.Bool().Draw(t, "sensitive"),
		})
	}
	return vars
}

func role(t *rapid.T) contract.Role { return rapid.SampledFrom(contract.Roles()).Draw(t, "role") }

// TestRenderRoundTrip: what is rendered, read back and decoded is what went in.
func TestRenderRoundTrip(t *testing.T) {
	d := v1alpha1.Definition()
	rapid.Check(t, func(t *rapid.T) {
		role := role(t)
		plain, vars := inputsOf(t, role), variablesOf(t)
		in, vs := d.DecodeInputs(role, plain)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		out, vs := d.Render(in, vars, contract.RenderOptions{})
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		again, vs := d.Render(in, vars, contract.RenderOptions{})
		if diff := cmp.Diff(out, again); diff != "" || len(vs) > 0 {
			t.Fatalf("rendering twice differs: %s %v", diff, vs)
		}
		values, readVars, vs := d.ReadRendered(role, out.Root, out.Values)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		if diff := cmp.Diff(plain, values); diff != "" {
			t.Fatalf("inputs (-in +read):\n%s", diff)
		}
		slices.SortFunc(vars, func(a, b contract.Variable) int { return cmpText(a.Name, b.Name) })
		if diff := cmp.Diff(vars, readVars, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("variables (-in +read):\n%s", diff)
		}
		back, vs := d.DecodeInputs(role, values)
		if diff := cmp.Diff(in, back, cmpopts.EquateEmpty()); diff != "" || len(vs) > 0 {
			t.Fatalf("Go values (-in +read): %v\n%s", vs, diff)
		}
		hash, vs := d.Hash(role, values, readVars)
		if len(vs) > 0 || hash.Inputs != out.Hash || hash.Approval != out.ApprovalHash {
			t.Fatalf("the record hashes to %v %v, not to %s", hash, vs, out.Hash)
		}
	})
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// reformat returns the same JSON value in other bytes: members in another
// order, and white space.
func reformat(raw json.RawMessage) json.RawMessage {
	value, _ := contract.ParseJSON("", raw)
	return appendReformatted(nil, value)
}

func appendReformatted(dst []byte, value any) []byte {
	switch v := value.(type) {
	case []any:
		dst = append(dst, " [\n"...)
		for i, item := range v {
			if i > 0 {
				dst = append(dst, " ,\t"...)
			}
			dst = appendReformatted(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		slices.Reverse(keys)
		dst = append(dst, "{ "...)
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			// Marshal escapes HTML, which canonical JSON does not.
			name, _ := json.Marshal(key)
			dst = append(append(dst, name...), " : "...)
			dst = appendReformatted(dst, v[key])
		}
		return append(dst, '}')
	default:
		raw, _ := json.Marshal(v)
		return append(dst, raw...)
	}
}

// TestHashIgnores: what does not count does not change the hash.
func TestHashIgnores(t *testing.T) {
	d := v1alpha1.Definition()
	rapid.Check(t, func(t *rapid.T) {
		role := role(t)
		plain, vars := inputsOf(t, role), variablesOf(t)
		before, vs := d.Hash(role, plain, vars)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		same := func(what string, plain map[string]json.RawMessage, vars []contract.Variable) {
			after, vs := d.Hash(role, plain, vars)
			if len(vs) > 0 || after != before {
				t.Fatalf("%s changes the hash: %v", what, vs)
			}
		}
		other := map[string]json.RawMessage{}
		for name, raw := range plain {
			other[name] = reformat(raw)
		}
		same("another layout", other, vars)
		shuffled := rapid.Permutation(vars).Draw(t, "shuffled")
		same("another order of variables", plain, shuffled)

		if role != contract.RoleMachinePool {
			return
		}
		scaled := maps.Clone(plain)
		scaled["autoscaling"] = json.RawMessage(`{"enabled":true,"max":9,"min":1}`)
		before, vs = d.Hash(role, scaled, vars)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		scaled["replicas"] = json.RawMessage(strconv.Itoa(rapid.IntRange(0, 100).Draw(t, "replicas")))
		same("the size of a pool that scales itself", scaled, vars)
	})
}

// TestHashChanges: everything else changes the hash.
func TestHashChanges(t *testing.T) {
	d := v1alpha1.Definition()
	rapid.Check(t, func(t *rapid.T) {
		role := role(t)
		plain, vars := inputsOf(t, role), variablesOf(t)
		if role == contract.RoleMachinePool {
			plain["autoscaling"] = json.RawMessage(`{"enabled":false,"max":0,"min":0}`)
		}
		before, vs := d.Hash(role, plain, vars)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		differs := func(what string, plain map[string]json.RawMessage, vars []contract.Variable) {
			after, vs := d.Hash(role, plain, vars)
			if len(vs) > 0 || after.Inputs == before.Inputs {
				t.Fatalf("%s keeps the hash: %v", what, vs)
			}
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(plain))).Draw(t, "input")
		changed := maps.Clone(plain)
		changed[name] = canonical(t, valueOf(t, mustInput(t, role, name).Shape))
		if string(changed[name]) != string(plain[name]) {
			differs("another "+name, changed, vars)
		}
		without := maps.Clone(plain)
		delete(without, name)
		differs("no "+name, without, vars)

		more := append(slices.Clone(vars), contract.Variable{Name: "zusatz", Value: json.RawMessage("null")})
		differs("one more variable", plain, more)
		if len(vars) > 0 {
			flipped := slices.Clone(vars)
			flipped[0].Sensitive = !flipped[0].Sensitive
			differs("a variable that moved to a Secret", plain, flipped)
			differs("one variable less", plain, vars[1:])
		}
		if h, _ := d.Hash(otherRole(role), plain, vars); h.Inputs == before.Inputs {
			t.Fatal("another role keeps the hash")
		}
	})
}

func mustInput(t *rapid.T, role contract.Role, name string) contract.Input {
	in, ok := v1alpha1.Definition().Spec(role).Input(name)
	if !ok {
		t.Fatalf("there is no input %s", name)
	}
	return in
}

func otherRole(role contract.Role) contract.Role {
	roles := contract.Roles()
	return roles[(slices.Index(roles, role)+1)%len(roles)]
}

// TestDecodeValidOutputs: every value of the output tables decodes without a
// blocking violation, and twice to the same.
func TestDecodeValidOutputs(t *testing.T) {
	d := v1alpha1.Definition()
	rapid.Check(t, func(t *rapid.T) {
		role := role(t)
		values := contract.Values{Outputs: map[string]json.RawMessage{}}
		for _, out := range d.Spec(role).Outputs {
			values.Outputs[out.Name] = canonical(t, valueOf(t, out.Shape))
		}
		first, vs := contract.Decode(d, role, values, nil)
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		if want := first.Condition().Reason != "InstancePending"; first.Provisioned(true, vs) != want {
			t.Fatalf("provisioned is %t", !want)
		}
		if first.Provisioned(false, vs) {
			t.Fatal("provisioned without an apply")
		}
		for name, raw := range values.Outputs {
			values.Outputs[name] = reformat(raw)
		}
		second, _ := contract.Decode(d, role, values, nil)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("another layout decodes to something else:\n%s", diff)
		}
	})
}
