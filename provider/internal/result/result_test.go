package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

const someHash = "p2:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func repeat(n, size int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("module.role.thing.number[%d] %s", i, strings.Repeat("x", size))
	}
	return list
}

func full(tail int) *Document {
	return &Document{
		Op: infrav1.OperationApply, Image: Image{Ref: "registry.example/module:v1", ProvidersMirror: true},
		Runtime: Runtime{Command: "tofu", Version: "1.12.6"},
		Steps:   []Step{{Name: "init", Seconds: 0.1234}, {Name: "apply", Exit: 1, Seconds: 12}},
		Error: &Error{
			Kind: infrav1.RunErrorBlocked, Step: "apply", Tail: strings.Repeat("t", tail),
		},
		Changes: &Changes{Add: 1, Import: 2},
		Plan:    &Plan{Hash: someHash, Replace: 3},
	}
}

// TestShrink drops what is told first to be dropped, and only as much as is needed (B-611, B-615).
func TestShrink(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Document)
		check  func(*Document) string
	}{
		{"all fits", func(*Document) {}, func(d *Document) string {
			if d.Changes == nil || len(d.Error.Tail) != 512 || len(d.Steps) != 2 {
				return "something is missing"
			}
			return ""
		}},
		{"changes go first", func(d *Document) { d.Plan.Resources = repeat(40, 47) }, func(d *Document) string {
			if d.Changes != nil || len(d.Error.Tail) != 512 || len(d.Plan.Resources) != 40 {
				return "not only the changes are missing"
			}
			return ""
		}},
		{"then the failed resources", func(d *Document) {
			d.Error.Resources = repeat(10, 100)
			d.Plan.Resources = repeat(30, 40)
		}, func(d *Document) string {
			if n := len(d.Error.Resources); d.Changes != nil || n == 0 || n == 10 || len(d.Error.Tail) != 512 || len(d.Plan.Resources) != 30 {
				return "not just some of the failed resources are missing"
			}
			return ""
		}},
		{"then the tail", func(d *Document) { d.Plan.Resources = repeat(45, 40) }, func(d *Document) string {
			if n := len(d.Error.Tail); n == 0 || n == 512 || len(d.Plan.Resources) != 45 || d.Plan.Truncated {
				return "not just a part of the tail is missing"
			}
			return ""
		}},
		{"then the lists", func(d *Document) { d.Plan.Resources = repeat(50, 100) }, func(d *Document) string {
			if n := len(d.Plan.Resources); n < 20 || n == 50 || !d.Plan.Truncated || d.Error.Tail != "" || len(d.Steps) != 2 {
				return "not just a part of the list is missing"
			}
			return ""
		}},
		{"then a drift's list", func(d *Document) {
			d.Plan, d.Drift = nil, &Drift{Detected: true, Create: 20, Resources: repeat(20, 300)}
		}, func(d *Document) string {
			if n := len(d.Drift.Resources); n == 0 || n == 20 || !d.Drift.Truncated || d.Drift.Create != 20 || len(d.Steps) != 2 {
				return "not just a part of the list is missing"
			}
			return ""
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := full(512)
			tt.change(d)
			before := fmt.Sprint(d)
			b := Encode(d)
			if after := fmt.Sprint(d); after != before {
				t.Error("the document itself was changed")
			}
			got, err := Decode(b)
			if err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			if msg := tt.check(got); msg != "" {
				t.Errorf("%s: %d bytes: %s", msg, len(b), b)
			}
			if got.Plan != nil && (got.Plan.Hash != someHash || got.Plan.Replace != 3) {
				t.Errorf("the plan's hash and counts must stay: %+v", got.Plan)
			}
		})
	}
}

func TestEncodeForm(t *testing.T) {
	d := &Document{
		Op: infrav1.OperationRefresh, Image: Image{Ref: "r/m:v1"}, Runtime: Runtime{Command: "tofu", Version: "1.12.6"},
		Steps: []Step{{Name: "init", Seconds: 0.0316}},
	}
	const want = `{"version":1,"op":"refresh","image":{"ref":"r/m:v1"},"runtime":{"command":"tofu","version":"1.12.6"},` +
		`"steps":[{"name":"init","exit":0,"seconds":0.032}],"drift":null,"error":null}`
	if diff := cmp.Diff(want, string(Encode(d))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ doc, want string }{
		"empty":           {" \n", "there is no result"},
		"too large":       {`{"version":1,"op":"apply","x":"` + strings.Repeat("x", MaxBytes) + `"}`, "more than 4096"},
		"garbage":         {"killed", "invalid character"},
		"two":             {`{"version":1,"op":"apply"}{}`, "after the document"},
		"other version":   {`{"version":2,"op":"apply"}`, "version is 2"},
		"no operation":    {`{"version":1,"op":"explode"}`, "op is no operation"},
		"step name":       {`{"version":1,"op":"apply","steps":[{"name":"In It"}]}`, "steps[0].name"},
		"negative time":   {`{"version":1,"op":"apply","steps":[{"name":"init","seconds":-1}]}`, "steps[0].seconds"},
		"kind":            {`{"version":1,"op":"apply","error":{"kind":"boom"}}`, "error.kind"},
		"tail of lines":   {`{"version":1,"op":"apply","error":{"kind":"step","tail":"a\nb"}}`, "error.tail"},
		"long tail":       {`{"version":1,"op":"apply","error":{"kind":"step","tail":"` + strings.Repeat("x", 513) + `"}}`, "error.tail"},
		"hash":            {`{"version":1,"op":"plan","plan":{"hash":"p1:00"}}`, "plan.hash"},
		"negative count":  {`{"version":1,"op":"plan","plan":{"hash":"` + someHash + `","delete":-1}}`, "negative"},
		"empty resource":  {`{"version":1,"op":"drift","drift":{"resources":[""]}}`, "drift.resources[0]"},
		"escape sequence": {`{"version":1,"op":"drift","drift":{"resources":["\u001b[2J"]}}`, "drift.resources[0]"},
		"step of error":   {`{"version":1,"op":"apply","error":{"kind":"step","step":"A B"}}`, "error.step"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Decode([]byte(tt.doc))
			if err == nil {
				t.Fatalf("accepted: %+v", d)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, wanted it to hold %q", err, tt.want)
			}
		})
	}
	if _, err := Decode(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
}

// TestEncodeProperty: whatever a run wants to tell, its reader gets it, and what decides stays.
func TestEncodeProperty(t *testing.T) {
	anyText := rapid.OneOf(rapid.String(), rapid.StringN(0, 3000, 6000), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 2000), func(b []byte) string { return string(b) }))
	count := rapid.Int32()
	list := rapid.SliceOfN(anyText, 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		d := &Document{
			Op:      rapid.SampledFrom(operations).Draw(t, "op"),
			Image:   Image{Ref: anyText.Draw(t, "ref")},
			Runtime: Runtime{Command: anyText.Draw(t, "command"), Version: anyText.Draw(t, "version")},
		}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			d.Steps = append(d.Steps, Step{Name: "state-push", Exit: count.Draw(t, "exit"), Seconds: rapid.Float64().Draw(t, "seconds")})
		}
		if rapid.Bool().Draw(t, "changes") {
			d.Changes = &Changes{Add: count.Draw(t, "add")}
		}
		if rapid.Bool().Draw(t, "error") {
			d.Error = &Error{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Tail: anyText.Draw(t, "tail"), Resources: list.Draw(t, "resources")}
		}
		if rapid.Bool().Draw(t, "drift") {
			d.Drift = &Drift{Detected: true, Delete: count.Draw(t, "delete"), Resources: list.Draw(t, "drifted")}
		}
		if rapid.Bool().Draw(t, "plan") {
			d.Plan = &Plan{Hash: someHash, Delete: count.Draw(t, "delete"), Resources: list.Draw(t, "planned")}
		}
		b := Encode(d)
		if len(b) > MaxBytes {
			t.Fatalf("%d bytes", len(b))
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		if got.Op != d.Op || (got.Error == nil) != (d.Error == nil) || (got.Plan == nil) != (d.Plan == nil) {
			t.Fatalf("%+v became %s", d, b)
		}
		if got.Error != nil && got.Error.Kind != d.Error.Kind {
			t.Fatalf("kind %s became %s", d.Error.Kind, got.Error.Kind)
		}
		if got.Plan != nil && (got.Plan.Hash != someHash || got.Plan.Delete != max(0, d.Plan.Delete)) {
			t.Fatalf("plan %+v became %+v", d.Plan, got.Plan)
		}
		if again := Encode(got); string(again) != string(b) {
			t.Fatalf("encoding is not stable:\n%s\n%s", b, again)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(full(100)))
	f.Add([]byte(`{"version":1,"op":"drift","drift":{"detected":true,"resources":["a"]}}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Decode(raw)
		if err != nil {
			return
		}
		if !json.Valid(Encode(d)) || len(Encode(d)) > MaxBytes {
			t.Errorf("what was decoded cannot be encoded: %+v", d)
		}
	})
}
