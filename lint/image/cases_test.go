package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/image"
	"github.com/captf-toolkit/captf/lint/rules"
)

func optionsOf(t testing.TB, s spec) image.Options {
	t.Helper()
	o := image.Options{Role: contract.Role(s.Role), Contract: versions.Default(), Rules: rules.All()}
	switch s.Check {
	case "":
	case "all":
		o.All = true
	default:
		p, err := contractimage.ParsePlatform(s.Check)
		if err != nil {
			t.Fatal(err)
		}
		o.Platform = &p
	}
	if o.Role == "" {
		o.Role = contract.RoleMachine
	}
	return o
}

// text returns a report, a line a finding.
func text(r *image.Report) string {
	var b strings.Builder
	for _, p := range r.Images {
		if len(r.Images) > 1 {
			fmt.Fprintf(&b, "# %s\n", p.Name)
		}
		if p.Err != nil {
			fmt.Fprintf(&b, "cannot be read: %v\n", p.Err)
			continue
		}
		for _, f := range p.Report.Findings {
			fmt.Fprintf(&b, "%s %s %s:%d %s\n", f.Severity, f.ID, f.File, f.Line, f.Message)
			if f.Remedy != "" {
				fmt.Fprintf(&b, "    fix: %s\n", f.Remedy)
			}
		}
	}
	return b.String()
}

// findings returns the findings of all platforms.
func findings(r *image.Report) []lint.Finding {
	var out []lint.Finding
	for _, p := range r.Images {
		if p.Report != nil {
			out = append(out, p.Report.Findings...)
		}
	}
	return out
}

// TestCases checks the image that each folder describes: testdata/cases/NAME/bad-*
// has a finding of the check image/NAME with the severity that the folder's name
// may give (bad-error-*, bad-warning-*, bad-info-*), good-* has none. All findings
// are in findings.txt.
func TestCases(t *testing.T) {
	good, bad := map[string]int{}, map[string]int{}
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*", "*", "image.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		id := "image/" + filepath.Base(filepath.Dir(dir))
		name := filepath.Base(dir)
		t.Run(strings.TrimPrefix(id, "image/")+"/"+name, func(t *testing.T) {
			s := readSpec(t, file)
			ref := writeImage(t, s)
			o := optionsOf(t, s)
			r, err := image.Run(t.Context(), ref, o)
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join(dir, "findings.txt"), []byte(strings.ReplaceAll(text(r), ref, "REF")))
			var found []lint.Severity
			for _, f := range findings(r) {
				if f.ID == id {
					found = append(found, f.Severity)
				}
			}
			switch kind := strings.Split(name, "-"); {
			case kind[0] == "good":
				good[id]++
				if len(found) > 0 {
					t.Errorf("%s fires on a good image", id)
				}
			case kind[0] == "bad" && len(kind) > 2:
				bad[id+" "+kind[1]]++
				if len(found) == 0 || string(found[0]) != kind[1] {
					t.Errorf("%s: got the severities %v, want %s", id, found, kind[1])
				}
			default:
				t.Fatalf("name the folder good-NAME or bad-SEVERITY-NAME")
			}
			// A layer that is streamed whole tells the same.
			o.Read = rootfs.Options{IgnoreTOC: true}
			again, err := image.Run(t.Context(), ref, o)
			if err != nil {
				t.Fatal(err)
			}
			if text(again) != text(r) {
				t.Errorf("reading whole layers gives another result:\n%s", text(again))
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, r := range image.Rules() {
		if r.ID == "image/signature" {
			continue // needs a key: see the command's tests
		}
		if good[r.ID] == 0 {
			t.Errorf("%s has no good case", r.ID)
		}
		for _, s := range r.Severities {
			if bad[r.ID+" "+string(s)] == 0 {
				t.Errorf("%s has no case with the severity %s", r.ID, s)
			}
		}
	}
}

func TestRuleTexts(t *testing.T) {
	for _, r := range image.Rules() {
		if r.Summary == "" || r.Why == "" || r.Fix == "" || r.Bad == "" || r.Good == "" || len(r.Rules) == 0 || len(r.Severities) == 0 {
			t.Errorf("%s lacks a text", r.ID)
		}
		if _, twice := lint.Find(rules.All(), r.ID); twice {
			t.Errorf("%s is a check of modules as well", r.ID)
		}
	}
}

// TestGoodImage: the image that the cases start from has no finding but infos
// that every image without a mirror has.
func TestGoodImage(t *testing.T) {
	r, err := image.Run(t.Context(), writeImage(t, spec{}), optionsOf(t, spec{Check: "all"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Images) != 2 {
		t.Fatalf("checked %d platforms, want 2", len(r.Images))
	}
	for _, f := range findings(r) {
		t.Errorf("%s %s %s %s", f.Severity, f.ID, f.File, f.Message)
	}
	if _, err := os.Stat("testdata/good.yaml"); err != nil {
		t.Fatal(err)
	}
}
