package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/diagnose/kube"
	"github.com/captf-toolkit/captf/sdk/move"
	"github.com/captf-toolkit/captf/sdk/move/live"
)

// diagnosis is what captf diagnose says about the Cluster, and how that reads.
func (w *world) diagnosis(ctx context.Context) (*diagnose.Diagnosis, string, error) {
	reader, err := kube.New(w.on.Env.Config())
	if err != nil {
		return nil, "", err
	}
	objects, err := diagnose.Read(ctx, reader, w.ns, w.name)
	if err != nil {
		return nil, "", err
	}
	d := diagnose.New(objects, diagnose.Options{Now: time.Now()})
	var text strings.Builder
	err = d.Text(&text, diagnose.TextOptions{})
	return d, text.String(), err
}

// cause is what a diagnosis has to begin with.
type cause struct {
	verdict diagnose.Verdict
	gate    string
	// kind of the object, and a part of its name.
	kind, name string
	// field is where in the object; says is a part of the message.
	field, says string
}

func (c cause) String() string {
	return fmt.Sprintf("%s at %s: %s %s", c.verdict, c.gate, c.kind, c.name)
}

// of tells that a problem is the one that is meant.
func (c cause) of(p diagnose.Problem) bool {
	return p.Gate == c.gate && p.Object.Kind == c.kind && strings.Contains(p.Object.Name, c.name) && p.Field == c.field &&
		strings.Contains(p.Message, c.says) && p.Action != ""
}

// diagnosed waits until captf diagnose names a cause before all others.
func (w *world) diagnosed(c cause) {
	w.t.Helper()
	last := ""
	w.await("captf diagnose: "+c.String(), func(ctx context.Context) (bool, string, error) {
		d, text, err := w.diagnosis(ctx)
		if err != nil {
			return false, "", err
		}
		last = text
		return d.Verdict == c.verdict && len(d.Problems) > 0 && c.of(d.Problems[0]), text, nil
	})
	w.t.Logf("$ captf diagnose %s\n%s", w.name, last)
}

// healthy waits until captf diagnose finds a Cluster to be as it should be. A Job that looks after the health of what runs may
// be at work, and what has just been restored may be about to be seen.
func (w *world) healthy() {
	w.t.Helper()
	w.await("captf diagnose: healthy", func(ctx context.Context) (bool, string, error) {
		d, text, err := w.diagnosis(ctx)
		if err != nil {
			return false, "", err
		}
		return d.Verdict == diagnose.VerdictHealthy && len(d.Unread) == 0, fmt.Sprintf("unread %v\n%s", d.Unread, text), nil
	})
}

// moveCheck is what captf move check says about a move to another management cluster, and how that reads.
func (w *world) moveCheck(to *management.Cluster) (*move.Report, string) {
	w.t.Helper()
	access := func(c *management.Cluster) move.Access {
		reader, err := live.New(c.Env.Config(), "captf-e2e")
		if err != nil {
			w.t.Fatal(err)
		}
		return move.Access{Reader: reader, Kubeconfig: c.Env.KubeconfigFile()}
	}
	target := access(to)
	r, err := move.Check(w.t.Context(), move.Options{Source: access(w.on), Target: &target, Namespace: w.ns})
	if err != nil {
		w.t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		w.t.Fatal(err)
	}
	return r, text.String()
}

// movable waits until captf move check finds no error and warns of nothing: as long as a Job runs it does.
func (w *world) movable(to *management.Cluster) {
	w.t.Helper()
	w.await("captf move check: the Cluster may be moved", func(context.Context) (bool, string, error) {
		r, text := w.moveCheck(to)
		return r.Ready && r.Summary.Warnings == 0, text, nil
	})
}

// unmovable waits until captf move check finds these and no other errors, each about one of the Cluster's objects: a Job that
// only looks at something, which is an error as any other, ends soon.
func (w *world) unmovable(to *management.Cluster, about string, ids ...string) *move.Report {
	w.t.Helper()
	slices.Sort(ids)
	var r *move.Report
	var text string
	w.await(fmt.Sprintf("captf move check finds %v", ids), func(context.Context) (bool, string, error) {
		r, text = w.moveCheck(to)
		var found []string
		for _, f := range r.Findings {
			if f.Severity == move.SeverityError {
				found = append(found, f.ID)
			}
		}
		slices.Sort(found)
		found = slices.Compact(found)
		return slices.Equal(found, ids) && !r.Ready, fmt.Sprint(found), nil
	})
	for _, f := range r.Findings {
		if f.Severity == move.SeverityError && (f.Fix == "" || !strings.Contains(f.What, about) && !strings.Contains(f.Object.Name, about)) {
			w.t.Errorf("%s is not about %s", f.ID, about)
		}
	}
	w.t.Logf("$ captf move check\n%s", text)
	return r
}

// shell runs commands as a user does who has chosen this management cluster, and in whose directory there is the kubeconfig of
// another one. They may fail, as those that are about what another one has done.
func (w *world) shell(other *world, commands string) {
	w.t.Helper()
	kubectl, err := tools.Find(w.t.Context(), "kubectl")
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	if err := os.Symlink(other.on.Env.KubeconfigFile(), filepath.Join(dir, "target.kubeconfig")); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), "bash", "-uc", commands)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(kubectl) + ":" + os.Getenv("PATH"), "HOME=" + dir, "KUBECONFIG=" + w.on.Env.KubeconfigFile()}
	out, err := cmd.CombinedOutput()
	w.say("$ %s\n%s%v", commands, out, err)
}

// block is the fenced block of a page of the documentation that has a word in it.
func (w *world) block(page, word string) string {
	w.t.Helper()
	root, err := repository()
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		w.t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n```") {
		if _, commands, ok := strings.Cut(part, "\n"); ok && i%2 == 1 && strings.Contains(commands, word) {
			return commands
		}
	}
	w.t.Fatalf("%s has no block with %s", page, word)
	return ""
}
