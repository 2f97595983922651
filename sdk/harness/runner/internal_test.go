package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
)

// TestExportReads reads every module in testdata/exports. A line of want.txt is
// a path, a ? when a missing value is handled, and the place.
func TestExportReads(t *testing.T) {
	cases, err := os.ReadDir("testdata/exports")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			dir := filepath.Join("testdata/exports", c.Name())
			tree, err := module.Load(dir, module.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, r := range exportReads(tree.Primary, func(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }) {
				optional := ""
				if r.Optional {
					optional = " ?"
				}
				fmt.Fprintf(&b, "%s%s %s\n", strings.Join(r.Path, "."), optional, r.Range)
			}
			golden.Assert(t, filepath.Join(dir, "want.txt"), []byte(b.String()))
		})
	}
}

// TestMembershipFiles decodes every file in testdata/membership; beside each
// lies what it means, or the error.
func TestMembershipFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/membership/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			m, err := decodeMembership(MembershipFile, raw)
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = fmt.Sprintf("pattern %s\n", m.pattern)
				for _, mem := range m.members {
					got += fmt.Sprintf("%s %s %q at %s\n", mem.Listener, mem.Address, mem.Path, mem.at)
				}
			}
			golden.Assert(t, strings.TrimSuffix(f, ".json")+".txt", []byte(got))
		})
	}
}

func FuzzDecodeMembership(f *testing.F) {
	files, err := filepath.Glob("testdata/membership/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeMembership("f.json", raw)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.json:") && !strings.Contains(err.Error(), "reading f.json") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		if (m.pattern == harness.PatternNone) != (len(m.members) == 0) {
			t.Errorf("pattern %s with %d members", m.pattern, len(m.members))
		}
	})
}

func TestMembershipOfModule(t *testing.T) {
	write := func(t *testing.T, files map[string]string) *member {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := openMember("machine", dir)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	lb := "resource \"aws_lb_target_group_attachment\" \"api\" {\n  count = 1\n}\nresource \"aws_instance\" \"this\" {}\n"
	declared := func(address string) string {
		return `{"membership":{"pattern":"A","attachments":[{"listener":"api","address":"` + address + `"}]}}`
	}
	tests := map[string]struct {
		files map[string]string
		want  string // fmt of the membership, or the end of the error
	}{
		"known type":        {map[string]string{"m.tf": lb}, `A false [{ aws_lb_target_group_attachment.api []}]`},
		"in a local module": {map[string]string{"m.tf": "module \"lb\" {\n  source = \"./lb\"\n}\n", "lb/m.tf": lb}, `A false [{ module.lb.aws_lb_target_group_attachment.api []}]`},
		"none":              {map[string]string{"m.tf": "resource \"aws_instance\" \"this\" {}\n"}, `none`},
		"a data source":     {map[string]string{"m.tf": "data \"oci_load_balancer_backend\" \"x\" {}\n"}, `none`},
		"declared wins":     {map[string]string{"m.tf": lb, MembershipFile: declared("aws_instance.this")}, `A true [{api aws_instance.this []}]`},
		"declared with index": {
			map[string]string{"m.tf": lb, MembershipFile: declared("aws_instance.this[0]")}, `A true [{api aws_instance.this[0] []}]`},
		"declared inside": {
			map[string]string{"m.tf": "module \"lb\" {\n  source = \"./lb\"\n}\n", "lb/m.tf": lb, MembershipFile: declared(`module.lb[\"a\"].aws_instance.this`)},
			`A true [{api module.lb["a"].aws_instance.this []}]`},
		"declared, but not there": {map[string]string{"m.tf": lb, MembershipFile: declared("aws_instance.that")},
			`captf-harness.json:1:73: the module has no resource aws_instance.that; it has aws_instance.this, aws_lb_target_group_attachment.api`},
		"declared in no module": {map[string]string{"m.tf": lb, MembershipFile: declared("module.x.aws_instance.this")},
			`the module has no module call "x"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := write(t, tt.files)
			ms, err := m.membership(m.tree.Primary)
			got := "none"
			switch {
			case err != nil:
				got = err.Error()
			case ms != nil:
				got = fmt.Sprint(ms.Pattern, " ", ms.Declared, " ", ms.Members)
			}
			if got != tt.want && (err == nil || !strings.HasSuffix(got, tt.want)) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestBusy: the union of spans is the number of instants that lie in any.
func TestBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var c clock
		var lit [64]bool
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			start := rapid.IntRange(0, 40).Draw(t, "start")
			took := rapid.IntRange(0, 20).Draw(t, "took")
			c.add(base.Add(time.Duration(start)*time.Second), time.Duration(took)*time.Second)
			for s := start; s < start+took; s++ {
				lit[s] = true
			}
		}
		want := time.Duration(0)
		for _, on := range lit {
			if on {
				want += time.Second
			}
		}
		if got := c.busy(); got != want {
			t.Fatalf("busy %s, want %s", got, want)
		}
	})
}

// TestDirectoryNames: any name is a directory of its own, inside its parent.
func TestDirectoryNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.String(), rapid.StringMatching(`Terraform(Machine|Cluster)/[a-z0-9.-]{1,253}`)), 2, 6, rapid.ID).Draw(t, "names")
		seen := map[string]bool{}
		for _, n := range names {
			d := directoryName(n)
			if !filepath.IsLocal(d) || strings.ContainsAny(d, `/\`) || strings.HasPrefix(d, ".") || len(d) > 120 || d == "" {
				t.Fatalf("%q becomes %q", n, d)
			}
			if seen[d] {
				t.Fatalf("%q becomes %q like another", n, d)
			}
			seen[d] = true
		}
	})
}

func TestUnwrapDynamic(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"value":"x","type":"string"}`, `"x"`},
		{`{"value":{"a":1},"type":["object",{"a":"number"}]}`, `{"a":1}`},
		{`{"value":null,"type":"string"}`, `null`},
		{`{"value":"x","type":"gp3"}`, `{"value":"x","type":"gp3"}`},
		{`{"value":"x","type":"number"}`, `{"value":"x","type":"number"}`},
		{`{"value":"x"}`, `{"value":"x"}`},
		{`{"value":"x","type":"string","more":1}`, `{"value":"x","type":"string","more":1}`},
		{`12345678901234567890`, `12345678901234567890`},
	}
	for _, tt := range tests {
		var in, want any
		if err := decodeNumbers([]byte(tt.in), &in); err != nil {
			t.Fatal(err)
		}
		if err := decodeNumbers([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if got := unwrapDynamic(in); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s becomes %v, want %v", tt.in, got, want)
		}
	}
}

func TestResourceType(t *testing.T) {
	for address, want := range map[string]string{
		"aws_instance.this":               "aws_instance",
		`aws_instance.this["a.b[0]"]`:     "aws_instance",
		`module.a["x.y"].module.b.t.n[3]`: "t",
		`t.n["$${x}"]`:                    "t",
		"data.aws_ami.x":                  "",
		"module.a":                        "",
		"module.a[0]":                     "",
	} {
		if got := resourceType(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if got := relative("module.role.aws_instance.this"); got != "aws_instance.this" {
		t.Error(got)
	}
	if got := relative("module.role"); got != "" {
		t.Error(got)
	}
	if got := relative("module.roles.x.y"); got != "module.roles.x.y" {
		t.Error(got)
	}
}
