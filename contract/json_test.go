package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
)

func TestParseJSON(t *testing.T) {
	got, broken := contract.ParseJSON("x", []byte(` {"a": [null, true, -1.50e3, "\u00e9\n"], "b": {}} `))
	if broken != nil {
		t.Fatal(broken)
	}
	want := map[string]any{"a": []any{nil, true, json.Number("-1.50e3"), "é\n"}, "b": map[string]any{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, path, rule string }{
		{"nothing", "", "x", contract.RuleJSON},
		{"space", " \n", "x", contract.RuleJSON},
		{"word", "yes", "x", contract.RuleJSON},
		{"two values", "1 2", "x", contract.RuleJSON},
		{"cut", `{"a": [1,`, "x.a", contract.RuleJSON},
		{"comma", `[1,]`, "x", contract.RuleJSON},
		{"leading zero", `[01]`, "x", contract.RuleJSON},
		{"plus", `+1`, "x", contract.RuleJSON},
		{"comment", `{} // done`, "x", contract.RuleJSON},
		{"not a number", `NaN`, "x", contract.RuleJSON},
		{"not UTF-8", "{\"a\": \"\xff\"}", "x.a", contract.RuleJSON},
		{"key not UTF-8", "{\"\xff\": 1}", "x", contract.RuleJSON},
		{"byte order mark", "\ufeff{}", "x", contract.RuleJSON},
		{"duplicate", `{"a": {"b c": 1, "b c": 2}}`, `x.a["b c"]`, contract.RuleDuplicate},
		{"deep", strings.Repeat("[", contract.MaxDepth+1) + strings.Repeat("]", contract.MaxDepth+1), "x", contract.RuleDepth},
		{"deep objects", strings.Repeat(`{"a":`, contract.MaxDepth+1) + "1" + strings.Repeat("}", contract.MaxDepth+1), "x", contract.RuleDepth},
	} {
		value, broken := contract.ParseJSON("x", []byte(tt.text))
		if broken == nil {
			t.Errorf("%s: parses to %v", tt.name, value)
			continue
		}
		if broken.Path != tt.path || broken.Rule != tt.rule || broken.Message == "" || broken.Reason != contract.ReasonInvalid {
			t.Errorf("%s: %+v, want %s at %s", tt.name, broken, tt.rule, tt.path)
		}
	}
	deepest := strings.Repeat("[", contract.MaxDepth) + strings.Repeat("]", contract.MaxDepth)
	if _, broken := contract.ParseJSON("x", []byte(deepest)); broken != nil {
		t.Errorf("the deepest value that is allowed: %v", broken)
	}
}

func TestCanonicalJSON(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`null`, `null`},
		{` [ true , false ] `, `[true,false]`},
		{`{"b":1,"a":{"d":[],"c":{}}}`, `{"a":{"c":{},"d":[]},"b":1}`},
		{`-0`, `0`},
		{`-12345678901234567890123`, `-12345678901234567890123`},
		{`"<a href=\"x\">\u0026</a>\/"`, `"<a href=\"x\">&</a>/"`},
		{`"\u2028\u2029\u007f"`, "\"\u2028\u2029\x7f\""},
		{`"\u0000\u0008\u0009\u000a\u000c\u000d\u001f"`, `"\u0000\b\t\n\f\r\u001f"`},
		{`{"\ud83d\ude00":1,"\uff21":2,"a":3}`, "{\"a\":3,\"\uff21\":2,\"\U0001f600\":1}"},
	} {
		value, broken := contract.ParseJSON("", []byte(tt.text))
		if broken != nil {
			t.Fatal(broken)
		}
		got, broken := contract.CanonicalJSON("", value)
		if broken != nil || string(got) != tt.want {
			t.Errorf("%s becomes %s %v, want %s", tt.text, got, broken, tt.want)
		}
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	for _, tt := range []struct {
		name       string
		value      any
		path, rule string
	}{
		{"fraction", map[string]any{"a": []any{json.Number("1"), json.Number("1.0")}}, "x.a[1]", contract.RuleInteger},
		{"exponent", json.Number("1e3"), "x", contract.RuleInteger},
		{"no number", json.Number(""), "x", contract.RuleInteger},
		{"leading zero", json.Number("007"), "x", contract.RuleInteger},
		{"not UTF-8", []any{"\xff"}, "x[0]", contract.RuleUTF8},
		{"key not UTF-8", map[string]any{"\xff": 1}, "x", contract.RuleUTF8},
		{"no JSON", map[string]any{"a": 1}, "x.a", contract.RuleType},
	} {
		got, broken := contract.CanonicalJSON("x", tt.value)
		if got != nil || broken == nil || broken.Path != tt.path || broken.Rule != tt.rule {
			t.Errorf("%s: %s, %+v, want %s at %s", tt.name, got, broken, tt.rule, tt.path)
		}
	}
}

// TestCanonicalIsRFC8785 compares with another implementation where the two
// forms are the same: numbers that a float holds, keys of one plane.
func TestCanonicalIsRFC8785(t *testing.T) {
	value := rapid.MapOf(rapid.String(), rapid.OneOf(
		rapid.String().AsAny(),
		rapid.Int32().AsAny(),
		rapid.Bool().AsAny(),
		rapid.SliceOf(rapid.String()).AsAny(),
	))
	rapid.Check(t, func(t *rapid.T) {
		members := value.Draw(t, "value")
		for key := range members {
			for _, r := range key {
				if r > 0xffff {
					delete(members, key)
				}
			}
		}
		text, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		tree, broken := contract.ParseJSON("", text)
		if broken != nil {
			t.Fatal(broken)
		}
		got, broken := contract.CanonicalJSON("", tree)
		if broken != nil {
			t.Fatal(broken)
		}
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("canonical form is %s, want %s", got, want)
		}
	})
}

// FuzzParseJSON: what parses is JSON to the standard library too, and its
// canonical form is a fixed point.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0,1.5,"\ud83d\ude00",null]}`, `[[[[`, `{"a":1,"a":2}`, "\"\xff\"", `1e999`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, broken := contract.ParseJSON("x", text)
		if broken != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q parses, but is no JSON", text)
		}
		first, broken := contract.CanonicalJSON("x", value)
		if broken != nil {
			if broken.Rule != contract.RuleInteger {
				t.Fatalf("what parsed has no canonical form: %v", broken)
			}
			return
		}
		again, broken := contract.ParseJSON("x", first)
		if broken != nil {
			t.Fatal(broken)
		}
		second, broken := contract.CanonicalJSON("x", again)
		if broken != nil || string(first) != string(second) {
			t.Fatalf("the canonical form of %s is %s", first, second)
		}
	})
}
