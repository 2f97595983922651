package e2e_test

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/captf-toolkit/captf/provider/test/e2e/fidelity"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// record is a directory to write what was seen of lives to, as the tests of package fidelity read it.
var record = flag.String("record", "", "a directory to write what was seen of the objects to")

// observe notes what happens to the objects of the namespace until the life is compared.
func (w *world) observe() {
	w.t.Helper()
	seen, err := fidelity.Watch(w.t.Context(), w.WithWatch, w.ns)
	if err != nil {
		w.t.Fatal(err)
	}
	w.seen = seen
}

// aside does what belongs to no story of the harness, and leaves no trace in it.
func (w *world) aside(why string, do func()) {
	w.t.Helper()
	end, err := w.seen.Aside(w.t.Context(), w, why)
	if err != nil {
		w.t.Fatal(err)
	}
	do()
	if err := end(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// faithful compares the life of the Cluster with the same story as the harness plays it on the same modules.
func (w *world) faithful(life string) {
	w.t.Helper()
	seen, err := w.seen.Stop()
	if err != nil {
		w.t.Fatal(err)
	}
	w.record(life, seen)
	folder := filepath.Join("fidelity", "testdata", life)
	plane := fidelity.Plane()
	story, err := fidelity.Story(filepath.Join(folder, "scenario.yaml"), plane)
	if err != nil {
		w.t.Fatal(err)
	}
	root, err := repository()
	if err != nil {
		w.t.Fatal(err)
	}
	modules, err := fidelity.Modules(w.t.Context(), runtimetest.OpenTofu(w.t), filepath.Join(root, "modules", "noop"), w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	played, err := fidelity.Play(w.t.Context(), plane, story, modules)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range fidelity.Compare(played, seen, story) {
		w.t.Error(d)
	}
	w.say("the life was compared with the story %s of the harness", story.ID)
}

// record writes what was seen, if that is asked for.
func (w *world) record(life string, seen []fidelity.Sighting) {
	w.t.Helper()
	if *record == "" {
		return
	}
	folder := filepath.Join(*record, life)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "watch.jsonl"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	if err := fidelity.Write(file, seen); err != nil {
		w.t.Fatal(err)
	}
}
