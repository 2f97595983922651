package controllerstest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract/golden"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// ProducedFile is where a package keeps what its tests made the provider show, for the table of the reference.
const ProducedFile = "testdata/produced.txt"

// produced is what was shown, and by which tests: "ApplyJobSucceeded False ApplyFailed" for a condition, "JobFailed" for an
// event.
var produced struct {
	sync.Mutex
	by      map[string]map[string]bool
	watched map[string]bool
}

// Watch notes which conditions and events the provider shows in a namespace, and on identities that have its name in theirs,
// until the test ends.
func Watch(t testing.TB, cfg *rest.Config, namespace string) {
	t.Helper()
	produced.Lock()
	seen := produced.watched[namespace]
	if produced.watched == nil {
		produced.watched = map[string]bool{}
	}
	produced.watched[namespace] = true
	produced.Unlock()
	if _, bench := t.(*testing.B); seen || bench {
		return
	}
	c := Client(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	see := func(obj any) {
		switch obj := obj.(type) {
		case *eventsv1.Event:
			ours := strings.HasPrefix(obj.ReportingController, "captf")
			if ours && (obj.Namespace == namespace || strings.Contains(obj.Regarding.Name, namespace)) {
				Shown(t, obj.Reason)
			}
		case interface {
			client.Object
			GetConditions() []metav1.Condition
		}:
			if obj.GetNamespace() != namespace && !strings.Contains(obj.GetName(), namespace) {
				return
			}
			for _, c := range obj.GetConditions() {
				Shown(t, strings.Join([]string{c.Type, string(c.Status), c.Reason}, " "))
			}
		}
	}
	lists := []client.ObjectList{
		&infrav1.TerraformClusterList{}, &infrav1.TerraformMachineList{}, &infrav1.TerraformMachinePoolList{},
		&infrav1.TerraformClusterTemplateList{}, &infrav1.TerraformMachineTemplateList{}, &infrav1.TerraformClusterIdentityList{}, &eventsv1.EventList{},
	}
	for _, list := range lists {
		w, err := c.Watch(ctx, list)
		if err != nil {
			cancel()
			t.Fatalf("watching %T: %s", list, err)
		}
		wg.Go(func() {
			for e := range w.ResultChan() {
				see(e.Object)
			}
		})
	}
	t.Cleanup(func() {
		for _, list := range lists { // the watch may be behind
			if err := c.List(ctx, list); err != nil {
				t.Errorf("listing %T: %s", list, err)
				continue
			}
			_ = meta.EachListItem(list, func(obj runtime.Object) error { see(obj); return nil })
		}
		cancel()
		wg.Wait()
	})
}

// Shown notes what a test has seen by itself, such as the reason of an event of a fake recorder.
func Shown(t testing.TB, what string) {
	produced.Lock()
	defer produced.Unlock()
	if produced.by == nil {
		produced.by = map[string]map[string]bool{}
	}
	if produced.by[what] == nil {
		produced.by[what] = map[string]bool{}
	}
	produced.by[what][t.Name()] = true
}

// Produced is called with the exit code of a package's tests, and returns it. With -update, if all of them ran and passed, it
// writes to ProducedFile what they showed. Nothing is compared: what objects show on the way depends on how fast the machine
// is, and what must be shown the tests wait for.
func Produced(code int) int {
	ran, skipped := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	if code != 0 || !golden.Updating() || ran != "" || skipped != "" || flag.Lookup("test.list").Value.String() != "" {
		return code
	}
	produced.Lock()
	defer produced.Unlock()
	var b bytes.Buffer
	for _, what := range slices.Sorted(maps.Keys(produced.by)) {
		fmt.Fprintf(&b, "%s: %s\n", what, slices.MinFunc(slices.Collect(maps.Keys(produced.by[what])), clearer))
	}
	if err := os.WriteFile(ProducedFile, b.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the source tree
		fmt.Fprintln(os.Stderr, "writing what the tests showed:", err)
		return 1
	}
	return code
}

// clearer orders tests by name; one of TestCrash, which shows it by chance, comes last.
func clearer(a, b string) int {
	const crash = "TestCrash/"
	if x, y := strings.HasPrefix(a, crash), strings.HasPrefix(b, crash); x != y {
		if x {
			return 1
		}
		return -1
	}
	return strings.Compare(a, b)
}
