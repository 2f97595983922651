package realtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/job"
)

// slowModule adds things to a cluster, each of which is made when the server at its URL answers, and one after them all.
const slowModule = `
terraform {
  required_providers {
    slow = {
      source  = "example.com/captf/slow"
      version = "1.0.0"
    }
  }
}

variable "things" {
  type    = map(string)
  default = { a = "" }
}

resource "slow_thing" "each" {
  for_each = var.things
  url      = each.value
}

resource "slow_thing" "after" {
  count      = length(var.things) > 1 ? 1 : 0
  depends_on = [slow_thing.each]
}
`

// tool builds the test modules' program, once.
var tool = sync.OnceValues(func() (string, error) {
	to := filepath.Join(node.dir, "tool")
	return to, node.images.Compile(noContext, "./provider/internal/realtest/internal/tool", to)
})

// slowImage builds the image of slowModule, once.
var slowImage = sync.OnceValues(func() (controllerstest.Images, error) {
	program, err := tool()
	if err != nil {
		return controllerstest.Images{}, err
	}
	mirror := filepath.Join(node.dir, "mirror")
	at := filepath.Join(mirror, "example.com", "captf", "slow", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return controllerstest.Images{}, err
	}
	if err := os.Link(program, filepath.Join(at, "terraform-provider-slow_v1.0.0")); err != nil {
		return controllerstest.Images{}, err
	}
	dir := filepath.Join(node.dir, "slow")
	if err := overlay(dir, contract.RoleCluster, map[string]string{"slow.tf": slowModule}); err != nil {
		return controllerstest.Images{}, err
	}
	pushed, err := node.images.Module(noContext, node.base, contract.RoleCluster, dir, mirror, "test/slow:v1")
	return controllerstest.Images{Cluster: pushed.Tag, Machine: node.noop.Machine}, err
})

// overlay writes a no-op module with more files into a new directory.
func overlay(dir string, role contract.Role, files map[string]string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(node.images.Root, "modules", "noop", string(role)))); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// gate is a server that answers once it is opened.
type gate struct {
	*httptest.Server
	arrived chan struct{}
	opened  chan struct{}
	once    sync.Once
}

func newGate(t testing.TB) *gate {
	g := &gate{arrived: make(chan struct{}, 100), opened: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		g.arrived <- struct{}{}
		select {
		case <-g.opened:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		g.open()
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// open lets everybody pass from now on.
func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

// await returns when somebody stands before the gate.
func (g *gate) await(t testing.TB) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(controllerstest.Patience):
		t.Fatal("the resource was not begun")
	}
}

// shifted is a clock that can be put forward.
type shifted struct{ by atomic.Int64 }

func (c *shifted) Now() time.Time                  { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *shifted) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *shifted) forward(d time.Duration) { c.by.Add(int64(d)) }

// slowCluster makes a cluster of slowModule with the thing a, and lets it begin with another one at a gate. It returns when
// that is being made, with the pod that does it.
func (w *world) slowCluster(name, thing string, g *gate) (*infrav1.TerraformCluster, *corev1.Pod) {
	w.t.Helper()
	ctx := w.t.Context()
	images, err := slowImage()
	if err != nil {
		w.t.Fatal(err)
	}
	tc := controllerstest.Cluster(ctx, w.t, w, w.ns, name, images)
	controllerstest.Await(ctx, w.t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	base := tc.DeepCopy()
	setVariable(tc, "things", fmt.Sprintf(`{"a":"",%q:%q}`, thing, g.URL))
	if err := w.Patch(ctx, tc, client.MergeFrom(base)); err != nil {
		w.t.Fatal(err)
	}
	g.await(w.t)
	controllerstest.Await(ctx, w.t, w, tc, "applied", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	return tc, w.pod(tc.Status.ActiveJob.Name)
}

// pods are those of a Job.
func (w *world) pods(job string) []corev1.Pod {
	w.t.Helper()
	list := &corev1.PodList{}
	if err := w.List(w.t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{"batch.kubernetes.io/job-name": job}); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// pod is the only pod of a Job.
func (w *world) pod(job string) *corev1.Pod {
	w.t.Helper()
	pods := w.pods(job)
	if len(pods) != 1 {
		w.t.Fatalf("Job %s has %d pods", job, len(pods))
	}
	return &pods[0]
}

// poke lets an object be looked at.
func (w *world) poke(obj client.Object) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"test/poked":"%d"}}}`, time.Now().UnixNano())
	if err := w.Patch(w.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
}

// stored is what a state has of slow things: their ids by address.
type stored struct {
	serial int
	ids    map[string]string
	raw    string
}

// state reads the state of a cluster as a stock client would.
func (w *world) state(name string) stored {
	w.t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: w.ns, Name: contract.StateSecretName(contract.RoleCluster, w.ns, name)}
	if err := w.Get(w.t.Context(), key, secret); err != nil {
		w.t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(secret.Data["tfstate"]))
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		w.t.Fatal(err)
	}
	var doc struct {
		Serial    int
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Key        any `json:"index_key"`
				Attributes struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		w.t.Fatal(err)
	}
	s := stored{serial: doc.Serial, ids: map[string]string{}, raw: string(raw)}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			if r.Type == "slow_thing" {
				s.ids[fmt.Sprintf("%s[%v]", r.Name, i.Key)] = i.Attributes.ID
			}
		}
	}
	return s
}

// logged waits until the module's container has written something.
func (w *world) logged(pod *corev1.Pod, want string) {
	w.t.Helper()
	for deadline := time.Now().Add(controllerstest.Patience); ; <-time.After(20 * time.Millisecond) {
		text, err := node.kubelet.Logs(client.ObjectKeyFromObject(pod), job.SourceContainer)
		if err == nil && strings.Contains(string(text), want) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%q is not in the log:\n%s", want, text)
		}
	}
}
