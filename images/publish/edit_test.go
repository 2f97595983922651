package publish

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		raw   string
		path  []any
		value any
		want  string
	}{
		{`{}`, []any{"a"}, 1, `{"a":1}`},
		{`{ "b" : [1, 2] }`, []any{"b", 1}, "<x>", `{ "b" : [1, "<x>"] }`},
		{`{"a": 1,  "z":{"k":"v"} , "y":null}`, []any{"z", "k"}, map[string]string{"n": "m"}, `{"a": 1,  "z":{"k":{"n":"m"}} , "y":null}`},
		{`{"a":1e2, "b":1.0}`, []any{"c", "d"}, true, `{"a":1e2, "b":1.0,"c":{"d":true}}`},
		{`{"config":null}`, []any{"config", "Labels"}, "x", `{"config":{"Labels":"x"}}`},
		{"{\n  \"a\": 1\n}\n", []any{"b"}, 2, "{\n  \"a\": 1,\"b\":2\n}\n"},
	} {
		got, err := edit([]byte(tt.raw), tt.value, tt.path...)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %v: got %s, error %v, want %s", tt.raw, tt.path, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		raw  string
		path []any
	}{{`[]`, []any{"a"}}, {`{"a":[]}`, []any{"a", 0}}, {`{"a":1}`, []any{"a", "b"}}, {`{"a":1,"a":2}`, []any{"b"}}, {`{"a":`, []any{"b"}}, {``, []any{"b"}}} {
		if got, err := edit([]byte(tt.raw), 1, tt.path...); err == nil {
			t.Errorf("%s %v: got %s, want an error", tt.raw, tt.path, got)
		}
	}
}

// TestEditKeepsTheRest sets a member of any object, and compares the rest.
func TestEditKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z"<\\]{1,4}`), 0, 6, rapid.ID[string]).Draw(t, "keys")
		object := map[string]any{}
		for _, k := range keys {
			object[k] = rapid.SampledFrom([]any{nil, 1.5, "x}", []any{"]"}, map[string]any{"a": "{"}}).Draw(t, "value")
		}
		raw, err := json.MarshalIndent(object, "", strings.Repeat(" ", rapid.IntRange(0, 3).Draw(t, "indent")))
		if err != nil {
			t.Fatal(err)
		}
		key := rapid.StringMatching(`[a-z"<\\]{1,4}`).Draw(t, "key")
		got, err := edit(raw, "new", key)
		if err != nil {
			t.Fatal(err)
		}
		object[key] = "new"
		want, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var back any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != string(want) {
			t.Fatalf("got %s, want %s", again, want)
		}
	})
}

func FuzzEdit(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"b":[1,{"c":null}]}}`, `{"a":1e400}`, "{\"\\u0061\":\"\xff\"}", `{"a":{}`, `[[]]`, " {\n} "} {
		f.Add([]byte(seed), "a", "b")
	}
	f.Fuzz(func(t *testing.T, raw []byte, first, second string) {
		got, err := edit(raw, "new", first, second)
		if err != nil || !utf8.ValidString(first) || !utf8.ValidString(second) {
			return
		}
		var back map[string]json.RawMessage
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q became %q, which is no object: %v", raw, got, err)
		}
		again, err := edit(got, "new", first, second)
		if err != nil || string(again) != string(got) {
			t.Fatalf("the same again made %q of %q, error %v", again, got, err)
		}
	})
}
