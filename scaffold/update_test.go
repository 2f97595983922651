package scaffold

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
)

// older writes a scaffold of a role as an older release would have: the files in
// was had another text then, those in gone did not exist, and those in dropped
// existed and are no longer generated.
func older(t *testing.T, o Options, was map[string]string, gone []string, dropped map[string]string) string {
	t.Helper()
	dir := written(t, o)
	name := filepath.Join(dir, RecordName)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := decodeRecord(name, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, texts := range []map[string]string{was, dropped} {
		for p, text := range texts {
			write(t, text, dir, filepath.FromSlash(p))
			r.Files[p] = digest([]byte(text))
		}
	}
	for _, p := range gone {
		delete(r.Files, p)
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(p))); err != nil {
			t.Fatal(err)
		}
	}
	if data, err = r.encode(); err != nil {
		t.Fatal(err)
	}
	write(t, string(data), name)
	return dir
}

// update plans and applies, and returns what happened by path.
func update(t *testing.T, dir string, o Options) (*Update, map[string]Action) {
	t.Helper()
	u, err := PlanUpdate(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Apply(context.Background()); err != nil {
		t.Fatal(err)
	}
	actions := map[string]Action{}
	for _, c := range u.Changes {
		if c.Action != ActionNone {
			actions[c.Path] = c.Action
		}
	}
	return u, actions
}

var machine = Options{Role: contract.RoleMachine}

// TestUpdate asserts what an update does with every kind of file, and that a
// second one has nothing to do.
func TestUpdate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		was     map[string]string // text of the older release
		gone    []string          // not there in the older release
		dropped map[string]string // only there in the older release
		edit    func(t *testing.T, dir string)
		want    map[string]Action
		// keeps are files that must hold this text afterwards.
		keeps map[string]string
		// again is what a second update still says.
		again map[string]Action
	}{
		{name: "nothing new", want: map[string]Action{}},
		{
			name: "not edited", was: map[string]string{"versions.tf": "old\n"},
			want: map[string]Action{"versions.tf": ActionReplace},
		},
		{
			name: "not edited, other line ends", was: map[string]string{"versions.tf": "old\nold\n"},
			edit: func(t *testing.T, dir string) { write(t, "old\r\nold\r\n", dir, "versions.tf") },
			want: map[string]Action{"versions.tf": ActionReplace},
		},
		{
			name: "edited, template did not change",
			edit: func(t *testing.T, dir string) { write(t, "mine\n", dir, "instance.tf") },
			want: map[string]Action{"instance.tf": ActionKeep}, again: map[string]Action{"instance.tf": ActionKeep},
			keeps: map[string]string{"instance.tf": "mine\n"},
		},
		{
			name: "edited, template changed", was: map[string]string{"instance.tf": "old\n"},
			edit: func(t *testing.T, dir string) { write(t, "mine\n", dir, "instance.tf") },
			want: map[string]Action{"instance.tf": ActionConflict}, again: map[string]Action{"instance.tf": ActionConflict},
			keeps: map[string]string{"instance.tf": "mine\n"},
		},
		{
			name: "edited into what is generated now", was: map[string]string{"instance.tf": "old\n"},
			edit: func(t *testing.T, dir string) { write(t, text(t, machine, "instance.tf"), dir, "instance.tf") },
			want: map[string]Action{},
		},
		{
			name: "made into a link", was: map[string]string{"instance.tf": "old\n"},
			edit: func(t *testing.T, dir string) {
				remove(t, dir, "instance.tf")
				if err := os.Symlink("versions.tf", filepath.Join(dir, "instance.tf")); err != nil {
					t.Fatal(err)
				}
			},
			want: map[string]Action{"instance.tf": ActionConflict}, again: map[string]Action{"instance.tf": ActionConflict},
		},
		{
			name:  "deleted, template did not change",
			edit:  func(t *testing.T, dir string) { remove(t, dir, "captf-harness.json") },
			want:  map[string]Action{"captf-harness.json": ActionDeleted},
			again: map[string]Action{"captf-harness.json": ActionDeleted},
		},
		{
			name: "deleted, template changed", was: map[string]string{"captf-harness.json": "old\n"},
			edit:  func(t *testing.T, dir string) { remove(t, dir, "captf-harness.json") },
			want:  map[string]Action{"captf-harness.json": ActionDeleted},
			again: map[string]Action{"captf-harness.json": ActionDeleted},
		},
		{
			name: "new in this release", gone: []string{"tests/contract.tftest.hcl"},
			edit: func(t *testing.T, dir string) { remove(t, dir, "tests") },
			want: map[string]Action{"tests/contract.tftest.hcl": ActionCreate},
		},
		{
			name: "new in this release, but the author has one", gone: []string{"locals_health.tf"},
			edit: func(t *testing.T, dir string) { write(t, "mine\n", dir, "locals_health.tf") },
			want: map[string]Action{"locals_health.tf": ActionConflict}, again: map[string]Action{"locals_health.tf": ActionConflict},
			keeps: map[string]string{"locals_health.tf": "mine\n"},
		},
		{
			name: "no longer generated", dropped: map[string]string{"extra.tf": "old\n"},
			want: map[string]Action{"extra.tf": ActionRemove},
		},
		{
			name: "no longer generated, edited", dropped: map[string]string{"extra.tf": "old\n"},
			edit:  func(t *testing.T, dir string) { write(t, "mine\n", dir, "extra.tf") },
			want:  map[string]Action{"extra.tf": ActionRelease},
			keeps: map[string]string{"extra.tf": "mine\n"},
		},
		{
			name: "no longer generated, deleted", dropped: map[string]string{"extra.tf": "old\n"},
			edit: func(t *testing.T, dir string) { remove(t, dir, "extra.tf") },
			want: map[string]Action{},
		},
		{
			name: "a file of the author", edit: func(t *testing.T, dir string) { write(t, "mine\n", dir, "subnet.tf") },
			want: map[string]Action{}, keeps: map[string]string{"subnet.tf": "mine\n"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := older(t, machine, test.was, test.gone, test.dropped)
			if test.edit != nil {
				test.edit(t, dir)
			}
			planned := snapshot(t, dir)
			u, err := PlanUpdate(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(planned, snapshot(t, dir)); diff != "" {
				t.Errorf("planning changed the directory (-before +after):\n%s", diff)
			}
			_, got := update(t, dir, Options{})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			checkChanges(t, dir, u)
			after := files(t, dir)
			for p, want := range test.keeps {
				if after[p] != want {
					t.Errorf("%s holds %q, want %q", p, after[p], want)
				}
			}
			settled := snapshot(t, dir)
			if test.again == nil {
				test.again = map[string]Action{}
			}
			_, again := update(t, dir, Options{})
			if diff := cmp.Diff(test.again, again); diff != "" {
				t.Errorf("actions of a second update (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(settled, snapshot(t, dir)); diff != "" {
				t.Errorf("a second update changed something (-before +after):\n%s", diff)
			}
			for p, action := range again {
				if action == ActionConflict {
					remove(t, dir, filepath.FromSlash(p)+NewSuffix)
					test.again[p] = ActionKeep
				}
			}
			_, merged := update(t, dir, Options{})
			if diff := cmp.Diff(test.again, merged); diff != "" {
				t.Errorf("actions once what is new was merged and removed (-want +got):\n%s", diff)
			}
		})
	}
}

// checkChanges asserts that each change was carried out as it says.
func checkChanges(t *testing.T, dir string, u *Update) {
	t.Helper()
	after := files(t, dir)
	for _, c := range u.Changes {
		want := text(t, u.Options, c.Path)
		switch c.Action {
		case ActionCreate, ActionReplace, ActionNone:
			if strings.ReplaceAll(after[c.Path], "\r", "") != want {
				t.Errorf("%s is not what is generated now", c.Path)
			}
		case ActionConflict:
			if c.WrittenTo != c.Path+NewSuffix || after[c.WrittenTo] != want {
				t.Errorf("%s does not hold what is generated now", c.WrittenTo)
			}
		case ActionRemove, ActionDeleted:
			if _, ok := after[c.Path]; ok {
				t.Errorf("%s is still there", c.Path)
			}
		}
		shows := c.Action != ActionNone && c.Action != ActionKeep && c.Action != ActionDeleted && c.Action != ActionRelease
		if shows != strings.HasPrefix(c.Diff, "--- ") {
			t.Errorf("%s %s shows the difference %q", c.Action, c.Path, c.Diff)
		}
	}
	for p := range after {
		if strings.HasPrefix(p, stagePrefix) {
			t.Errorf("%s was left behind", p)
		}
	}
}

// text returns what is generated at a path, "" for nothing.
func text(t *testing.T, o Options, p string) string {
	t.Helper()
	for _, f := range generate(t, o).Files {
		if f.Path == p {
			return string(f.Content)
		}
	}
	return ""
}

func remove(t *testing.T, elem ...string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(elem...)); err != nil {
		t.Fatal(err)
	}
}

// TestUpdateOptions asserts that an update generates with what the scaffold was
// made with, unless it is told otherwise.
func TestUpdateOptions(t *testing.T) {
	t.Parallel()
	dir := written(t, Options{Set: true, Runtime: Terraform})
	if _, got := update(t, dir, Options{}); len(got) > 0 {
		t.Errorf("an update without a reason did %v", got)
	}
	u, got := update(t, dir, Options{Provider: &Provider{"hashicorp/aws", "6.25.0"}})
	if got["cluster/providers.tf"] != ActionCreate || got["cluster/versions.tf"] != ActionReplace {
		t.Errorf("adding a provider did %v", got)
	}
	if u.Options.Runtime != Terraform || !u.Options.Set {
		t.Errorf("options are %+v", u.Options)
	}
	if _, got = update(t, dir, Options{Set: true, Runtime: OpenTofu}); got[".github/workflows/module.yml"] != ActionReplace || got["cluster/versions.tf"] != "" {
		t.Errorf("another runtime did %v", got)
	}
	_, err := PlanUpdate(dir, Options{Role: contract.RoleMachine})
	if err == nil || !strings.Contains(err.Error(), "scaffolded for a set") {
		t.Errorf("another role gives %v", err)
	}
	if _, err := PlanUpdate(dir, Options{Contract: "v9"}); err == nil {
		t.Error("an unknown contract is accepted")
	}
}

// TestUpdateRefuses asserts that what cannot be updated is refused, and that
// nothing changes.
func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T) string
		want    string
	}{
		{"no directory", func(t *testing.T) string { return filepath.Join(t.TempDir(), "none") }, "does not exist"},
		{"file", func(t *testing.T) string {
			dir := t.TempDir()
			write(t, "", dir, "f")
			return filepath.Join(dir, "f")
		}, "it is a file"},
		{"link", func(t *testing.T) string {
			dir := written(t, machine)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(dir, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, "symbolic link"},
		{"no scaffold", func(t *testing.T) string { return t.TempDir() }, "nothing was scaffolded here"},
		{"broken record", func(t *testing.T) string {
			dir := written(t, machine)
			write(t, "{\n", dir, RecordName)
			return dir
		}, RecordName + ":2:0"},
		{"unknown role", func(t *testing.T) string {
			dir := written(t, machine)
			write(t, `{"scaffold": 1, "contract": "v1alpha1", "role": "disk", "runtime": "tofu", "files": {}}`, dir, RecordName)
			return dir
		}, "parsing role"},
		{"an offer that was edited", func(t *testing.T) string {
			dir := older(t, machine, map[string]string{"instance.tf": "old\n"}, nil, nil)
			write(t, "mine\n", dir, "instance.tf")
			write(t, "half merged\n", dir, "instance.tf"+NewSuffix)
			return dir
		}, "instance.tf.new is in the way"},
		{"a directory where an offer goes", func(t *testing.T) string {
			dir := older(t, machine, map[string]string{"instance.tf": "old\n"}, nil, nil)
			write(t, "mine\n", dir, "instance.tf")
			mkdir(t, dir, "instance.tf"+NewSuffix)
			return dir
		}, "instance.tf.new is in the way"},
		{"a directory that leads out", func(t *testing.T) string {
			dir := older(t, machine, nil, []string{"tests/contract.tftest.hcl"}, nil)
			remove(t, dir, "tests")
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, "tests")); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "escapes"},
		{"too large", func(t *testing.T) string {
			dir := written(t, machine)
			write(t, strings.Repeat("x", maxFile+1), dir, "instance.tf")
			return dir
		}, "larger than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := test.prepare(t)
			before := map[string]string{}
			if _, err := os.Stat(dir); err == nil {
				before = snapshot(t, dir)
			}
			u, err := PlanUpdate(dir, Options{})
			if err == nil {
				err = u.Apply(context.Background())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if len(before) > 0 {
				if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
					t.Errorf("the directory changed (-before +after):\n%s", diff)
				}
			}
		})
	}
}

// busy returns a scaffold for which an update has work of every kind.
func busy(t *testing.T) string {
	t.Helper()
	dir := older(t, machine,
		map[string]string{"versions.tf": "old\n", "instance.tf": "old\n", "README.md": "old\n"},
		[]string{"tests/contract.tftest.hcl"}, map[string]string{"extra.tf": "old\n"})
	remove(t, dir, "tests")
	write(t, "mine\n", dir, "instance.tf")
	return dir
}

// TestUpdateStopsAnywhere interrupts an update before each file that it prepares.
func TestUpdateStopsAnywhere(t *testing.T) {
	t.Parallel()
	dir := busy(t)
	u, err := PlanUpdate(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	for n := range len(u.steps) {
		if err := u.Apply(cancelAfter{context.Background(), &n}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
			t.Fatalf("the directory changed (-before +after):\n%s", diff)
		}
	}
}

// TestUpdateTakesBack lets each step of an update fail in turn: those before it
// must be taken back.
func TestUpdateTakesBack(t *testing.T) {
	t.Parallel()
	dir := busy(t)
	u, err := PlanUpdate(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	in := filepath.Join(dir, "in-the-way")
	for i := range len(u.steps) + 1 {
		broken := *u
		broken.steps = slices.Insert(slices.Clone(u.steps), i, step{path: "in-the-way/x", content: []byte("x")})
		// The file that appears once all steps were verified keeps step i from being made.
		err := broken.Apply(&appearing{Context: context.Background(), path: in})
		if err == nil || !strings.Contains(err.Error(), "not a directory; nothing was changed") {
			t.Fatalf("step %d gives %v", i, err)
		}
		remove(t, in)
		if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
			t.Fatalf("step %d: the directory changed (-before +after):\n%s", i, diff)
		}
	}
	if err := u.Apply(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestUpdateSeesEdits asserts that an edit between plan and apply is not lost.
func TestUpdateSeesEdits(t *testing.T) {
	t.Parallel()
	dir := busy(t)
	u, err := PlanUpdate(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, "a late edit\n", dir, "versions.tf")
	before := snapshot(t, dir)
	if err := u.Apply(context.Background()); err == nil || !strings.Contains(err.Error(), "versions.tf changed meanwhile") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("the directory changed (-before +after):\n%s", diff)
	}
}

// TestRecord asserts that the record says what was generated, and nothing of the
// machine it was made on.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir := written(t, Options{Role: contract.RoleCluster, Provider: &Provider{"hashicorp/aws", "6.25.0"}})
	var got map[string]any
	if err := json.Unmarshal([]byte(files(t, dir)[RecordName]), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "files")
	want := map[string]any{
		"scaffold": float64(Generation), "contract": "v1alpha1", "role": "cluster", "runtime": "tofu",
		"provider": map[string]any{"source": "hashicorp/aws", "version": "6.25.0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
