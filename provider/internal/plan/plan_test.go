package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

var (
	key   = []byte("0123456789abcdef0123456789abcdef")
	other = []byte("another key of thirty-two bytes!")
)

// TestGolden keeps fingerprints, which are stored in the cluster, from changing unseen. A case is a plan.json; its golden
// file has what is hashed, the lines, the report and the drift.
func TestGolden(t *testing.T) {
	plans, err := filepath.Glob("testdata/*/plan.json")
	if err != nil || len(plans) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range plans {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			for _, r := range p.Resources {
				if included(r) {
					e := effectOf(r.Change)
					e.Deposed = r.DeposedKey
					if moved(r) {
						e.Move = r.PreviousAddress
					}
					doc, err := e.canonical()
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&b, "%s %s\n", r.Address, doc)
				}
			}
			lines, err := p.lines(key)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(lines)
			report, err := Judge(key, raw)
			if err != nil {
				t.Fatal(err)
			}
			drift, err := DriftOf(raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []any{lines, report, drift} {
				doc, err := json.MarshalIndent(v, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%s\n", doc)
			}
			golden.Assert(t, filepath.Join(filepath.Dir(path), "golden.txt"), b.Bytes())
		})
	}
}

func TestEmptyHash(t *testing.T) {
	sum := sha256.Sum256(nil)
	if want := "p2:" + hex.EncodeToString(sum[:]); EmptyHash != want {
		t.Errorf("got %s, wanted %s", EmptyHash, want)
	}
	r, err := Judge(key, []byte(`{"format_version":"1.2","resource_changes":[{"address":"a.b","change":{"actions":["no-op"],"before":{},"after":{}}}],
		"output_changes":{"x":{"actions":["no-op"]}}}`))
	if err != nil || !r.Empty || r.Hash != EmptyHash || r.Destructive || len(r.Resources) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// change is a plan of one change.
func change(t *testing.T, k []byte, doc string) *Report {
	t.Helper()
	r, err := Judge(k, []byte(`{"format_version":"1.2","resource_changes":[{"address":"a.b",`+doc+`}]}`))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return r
}

// TestEffects: plans that do the same have one hash, plans that do something else another (B-749..B-752).
func TestEffects(t *testing.T) {
	const update = `"change":{"actions":["update"],`
	for name, tt := range map[string]struct {
		a, b string
		same bool
	}{
		"order of keys":                    {update + `"before":{"x":1,"y":2},"after":{"x":2,"y":3}}`, update + `"after":{"y":3,"x":2},"before":{"y":2,"x":1}}`, true},
		"what does not change":             {update + `"before":{"x":1,"y":"old"},"after":{"x":2,"y":"old"}}`, update + `"before":{"x":1,"y":"new"},"after":{"x":2,"y":"new"}}`, true},
		"new value":                        {update + `"before":{"x":1},"after":{"x":2}}`, update + `"before":{"x":1},"after":{"x":3}}`, false},
		"old value":                        {update + `"before":{"x":1},"after":{"x":3}}`, update + `"before":{"x":2},"after":{"x":3}}`, false},
		"number literal":                   {update + `"before":{"x":1},"after":{"x":1.0}}`, update + `"before":{"x":1},"after":{"x":1.00}}`, false},
		"large numbers":                    {update + `"before":{"x":1},"after":{"x":9007199254740993}}`, update + `"before":{"x":1},"after":{"x":9007199254740992}}`, false},
		"number and text":                  {update + `"before":{"x":1},"after":{"x":2}}`, update + `"before":{"x":1},"after":{"x":"2"}}`, false},
		"absent and null":                  {update + `"before":{"x":1},"after":{"x":null}}`, update + `"before":{"x":1},"after":{}}`, false},
		"list and map":                     {update + `"before":{"x":["a"]},"after":{"x":["b"]}}`, update + `"before":{"x":{"0":"a"}},"after":{"x":{"0":"b"}}}`, false},
		"empty list and map":               {update + `"before":{"x":1},"after":{"x":[]}}`, update + `"before":{"x":1},"after":{"x":{}}}`, false},
		"key with a dot":                   {update + `"before":{"x":{"y":1}},"after":{"x":{"y":2}}}`, update + `"before":{"x.y":1},"after":{"x.y":2}}`, false},
		"key like a path":                  {update + `"before":{"x":{"y":1}},"after":{"x":{"y":2}}}`, update + `"before":{"x\",\"y":1},"after":{"x\",\"y":2}}`, false},
		"known and unknown":                {update + `"before":{"x":1},"after":{"x":null}}`, update + `"before":{"x":1},"after":{},"after_unknown":{"x":true}}`, false},
		"unknown in a list":                {update + `"before":{"x":["a"]},"after":{"x":[null]},"after_unknown":{"x":[true]}}`, update + `"before":{"x":["a"]},"after":{"x":[null]}}`, false},
		"becomes sensitive":                {update + `"before":{"x":1},"after":{"x":2},"after_sensitive":{"x":true}}`, update + `"before":{"x":1},"after":{"x":2}}`, false},
		"ceases to be sensitive":           {update + `"before":{"x":1},"after":{"x":2},"before_sensitive":{"x":true}}`, update + `"before":{"x":1},"after":{"x":2},"after_sensitive":{"x":true}}`, false},
		"stays sensitive":                  {update + `"before":{"x":1},"after":{"x":2},"before_sensitive":{"x":true},"after_sensitive":{"x":true}}`, update + `"before":{"x":1},"after":{"x":2}}`, true},
		"order of a replacement":           {`"change":{"actions":["create","delete"],"before":{"x":1},"after":{"x":2}}`, `"change":{"actions":["delete","create"],"before":{"x":1},"after":{"x":2}}`, false},
		"delete of other content":          {`"change":{"actions":["delete"],"before":{"x":1},"after":null}`, `"change":{"actions":["delete"],"before":{"x":2},"after":null}`, true},
		"delete of a leftover":             {`"change":{"actions":["delete"],"before":{"x":1},"after":null}`, `"deposed":"0a","change":{"actions":["delete"],"before":{"x":1},"after":null}`, false},
		"delete and forget":                {`"change":{"actions":["delete"],"before":{"x":1},"after":null}`, `"change":{"actions":["forget"],"before":{"x":1},"after":null}`, false},
		"create":                           {`"change":{"actions":["create"],"before":null,"after":{"x":1}}`, `"change":{"actions":["create"],"before":null,"after":{"x":2}}`, false},
		"create sensitive":                 {`"change":{"actions":["create"],"before":null,"after":{"x":1},"after_sensitive":{"x":true}}`, `"change":{"actions":["create"],"before":null,"after":{"x":1}}`, false},
		"create and read":                  {`"change":{"actions":["create"],"before":null,"after":{"x":1}}`, `"change":{"actions":["read"],"before":null,"after":{"x":1}}`, false},
		"import id":                        {`"change":{"actions":["no-op"],"importing":{"id":"i-1"}}`, `"change":{"actions":["no-op"],"importing":{"id":"i-2"}}`, false},
		"import identity":                  {`"change":{"actions":["no-op"],"importing":{"identity":{"a":1}}}`, `"change":{"actions":["no-op"],"importing":{"identity":{"a":2}}}`, false},
		"move from":                        {`"previous_address":"a.c","change":{"actions":["no-op"]}`, `"previous_address":"a.d","change":{"actions":["no-op"]}`, false},
		"reason and provider do not count": {`"action_reason":"tainted","provider_name":"p","change":{"actions":["delete"]}`, `"change":{"actions":["delete"]}`, true},
		"html is not escaped twice":        {update + `"before":{"x":"<"},"after":{"x":">"}}`, update + `"before":{"x":"\u003c"},"after":{"x":"\u003e"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := change(t, key, tt.a), change(t, key, tt.b)
			if same := a.Hash == b.Hash; same != tt.same {
				t.Errorf("same hash: %v, wanted %v", same, tt.same)
			}
			if a.Empty || b.Empty {
				t.Error("a change is taken for none")
			}
			if k := change(t, other, tt.a); k.Hash == a.Hash {
				t.Error("the key does not matter")
			}
		})
	}
}

func TestSummary(t *testing.T) {
	var changes []string
	for i := range 60 {
		changes = append(changes, fmt.Sprintf(`{"address":"a.b[%02d]","change":{"actions":["create"],"after":{}}}`, i))
	}
	changes = append(changes,
		`{"address":"z.deleted","change":{"actions":["delete"]}}`,
		`{"address":"z.replaced","change":{"actions":["create","delete"],"after":{}}}`,
		`{"address":"z.forgotten","change":{"actions":["forget"]}}`,
		`{"address":"z.imported","change":{"actions":["update"],"after":{},"importing":{"id":"x"}}}`,
		`{"address":"z.moved","previous_address":"z.old","change":{"actions":["no-op"]}}`,
		`{"address":"data.z.read","mode":"data","change":{"actions":["read"],"after":{}}}`,
	)
	raw := []byte(`{"format_version":"1.2","resource_changes":[` + strings.Join(changes, ",") + `],"output_changes":{"o":{"actions":["update"],"before":1,"after":2}}}`)
	r, err := Judge(key, raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Resources) != result.MaxPlanResources || !r.Truncated || !slices.IsSorted(r.Resources) || !r.Destructive {
		t.Errorf("got %d resources, truncated %v, destructive %v: %q", len(r.Resources), r.Truncated, r.Destructive, r.Resources)
	}
	for _, want := range []string{"z.deleted (delete)", "z.replaced (replace)"} {
		if !slices.Contains(r.Resources, want) {
			t.Errorf("%q is hidden", want)
		}
	}
	r.Resources, r.Hash = nil, ""
	want := &Report{Destructive: true, Plan: result.Plan{
		Create: 60, Update: 1, Replace: 1, Delete: 1, Import: 1, Move: 1, Forget: 1, OutputChanges: 1, Truncated: true,
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d, err := DriftOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	if d.Create != 60 || d.Update != 1 || d.Replace != 1 || d.Delete != 1 || len(d.Resources) != result.MaxDriftResources || !d.Truncated {
		t.Errorf("drift: %+v", d)
	}
	for _, calm := range []string{
		`"resource_changes":[{"address":"z.moved","previous_address":"z.old","change":{"actions":["no-op"]}}]`,
		`"resource_changes":[{"address":"z.i","change":{"actions":["no-op"],"importing":{"id":"x"}}}]`,
		`"output_changes":{"o":{"actions":["update"],"before":1,"after":2}}`,
	} {
		d, err := DriftOf([]byte(`{"format_version":"1.2",` + calm + `}`))
		if err != nil || d.Detected {
			t.Errorf("%s is drift: %+v %v (B-683)", calm, d, err)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		key  []byte
		doc  string
		want string
	}{
		"no key":        {nil, `{"format_version":"1.2"}`, "0 bytes"},
		"short key":     {key[:31], `{"format_version":"1.2"}`, "fewer than 32"},
		"nothing":       {key, ``, "EOF"},
		"no version":    {key, `{}`, "format version"},
		"other version": {key, `{"format_version":"2.0"}`, "2.0"},
		"failed plan":   {key, `{"format_version":"1.2","errored":true}`, "failed"},
		"no actions":    {key, `{"format_version":"1.2","resource_changes":[{"address":"a.b","change":{}}]}`, "resource_changes[0]"},
		"null":          {key, `{"format_version":"1.2","resource_changes":[null]}`, "resource_changes[0]"},
		"output":        {key, `{"format_version":"1.2","output_changes":{"x":null}}`, `"x"`},
		"type":          {key, `{"format_version":"1.2","resource_changes":[{"address":{"secret":"canary"}}]}`, "another type"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Judge(tt.key, []byte(tt.doc))
			if err == nil {
				t.Fatalf("judged: %+v", r)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %q, wanted it to hold %q", err, tt.want)
			}
		})
	}
}

// anyValue draws JSON values.
func anyValue(depth int) *rapid.Generator[any] {
	leaf := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.StringN(0, 6, -1), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(-3, 1000), func(n int) any { return json.Number(strconv.Itoa(n)) }),
	}
	if depth == 0 {
		return rapid.OneOf(leaf...)
	}
	part := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	return rapid.OneOf(append(leaf,
		rapid.Map(rapid.SliceOfN(part, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringN(0, 3, -1), part, 0, 3), func(m map[string]any) any { return m }),
	)...)
}

// TestHashProperty: the hash does not depend on the order of changes nor on white space, and a second value in place of
// one always changes it.
func TestHashProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.Map(rapid.MapOfN(rapid.StringN(1, 4, -1), anyValue(2), 1, 4), func(m map[string]any) any { return m })
		var changes []map[string]any
		for i := range rapid.IntRange(1, 5).Draw(t, "changes") {
			actions := rapid.SampledFrom([][]string{{"create"}, {"update"}, {"delete"}, {"create", "delete"}, {"no-op"}, {"read"}, {"forget"}}).Draw(t, "actions")
			changes = append(changes, map[string]any{"address": fmt.Sprintf("a.b[%d]", i), "change": map[string]any{
				"actions": actions, "before": object.Draw(t, "before"), "after": object.Draw(t, "after"),
				"after_unknown": anyValue(1).Draw(t, "unknown"), "after_sensitive": anyValue(1).Draw(t, "sensitive"),
			}})
		}
		judged := func(list []map[string]any, indent string) string {
			raw, err := json.MarshalIndent(map[string]any{"format_version": "1.2", "resource_changes": list}, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Judge(key, raw)
			if err != nil {
				t.Fatalf("%v: %s", err, raw)
			}
			return r.Hash
		}
		first := judged(changes, "")
		shuffled := rapid.Permutation(changes).Draw(t, "order")
		if second := judged(shuffled, "   "); second != first {
			t.Fatalf("the order matters: %s, %s", first, second)
		}
		// One more value in what is created.
		changes[0]["change"] = map[string]any{"actions": []string{"create"}, "after": map[string]any{"x": "1"}}
		one := judged(changes, "")
		changes[0]["change"] = map[string]any{"actions": []string{"create"}, "after": map[string]any{"x": "2"}}
		if two := judged(changes, ""); one == two {
			t.Fatal("a value does not matter")
		}
	})
}

func FuzzJudge(f *testing.F) {
	plans, err := filepath.Glob("testdata/*/plan.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range plans {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":["update"],"before":[1,{"a":null}],"after":{},"after_unknown":[true]}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Judge(key, raw)
		if err != nil {
			return
		}
		if again, err := Judge(key, raw); err != nil || again.Hash != r.Hash || r.Empty != (r.Hash == EmptyHash) {
			t.Errorf("judged %+v, then %+v, %v", r, again, err)
		}
		if len(r.Resources) > result.MaxPlanResources {
			t.Errorf("%d resources", len(r.Resources))
		}
	})
}
