package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/captf-toolkit/captf/contract"
)

// cloudAPI answers modules that ask about their object, as others ask the API of a cloud. Objects are known by their name, and
// what is said about a word is said about each object that has the word in its name.
type cloudAPI struct {
	url string

	mu      sync.Mutex
	states  map[string]string
	held    chan struct{} // nil holds nobody
	waiting int
}

// States that are more than what the cloud says of an object's health.
const (
	// broken lets an apply fail that has made something.
	broken = "broken"
	// unknown lets everything fail before it makes or removes anything.
	unknown = ""
)

func newCloudAPI(t *testing.T) *cloudAPI {
	t.Helper()
	a := &cloudAPI{states: map[string]string{}}
	server := httptest.NewServer(a)
	a.url = server.URL
	t.Cleanup(func() {
		a.release()
		server.Close()
	})
	return a
}

// ServeHTTP answers as a backend of states does.
func (a *cloudAPI) ServeHTTP(answer http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	held := a.held
	a.waiting++
	a.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-q.Context().Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting--
	state := "running"
	for word, of := range a.states {
		if strings.Contains(q.URL.Path, word) {
			state = of
		}
	}
	if state == unknown {
		http.NotFound(answer, q)
		return
	}
	fmt.Fprintf(answer, `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"cloud","outputs":{"state":{"value":%q,"type":"string"}},"resources":[]}`, state)
}

// set says how the objects are that have a word in their names.
func (a *cloudAPI) set(word, state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.states[word] = state
}

// hold lets whoever asks wait from now on.
func (a *cloudAPI) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = make(chan struct{})
}

// holds is how many wait.
func (a *cloudAPI) holds() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		return 0
	}
	return a.waiting
}

// release ends that.
func (a *cloudAPI) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held != nil {
		close(a.held)
		a.held = nil
	}
}

// cloudModule lets the no-op module of a role ask the cloud whenever something is planned or read. The resource that it makes
// stands for the first thing that works only when the one before it does.
const cloudModule = `
variable "cloud" {
  type = string
}

data "terraform_remote_state" "cloud" {
  backend = "http"
  config  = { address = "${var.cloud}/${var.captf_object.name}" }
}

resource "terraform_data" "checked" {
  input = terraform_data.%s.id

  lifecycle {
    postcondition {
      condition     = self.id == "" || data.terraform_remote_state.cloud.outputs.state != "broken"
      error_message = "The cloud says that it is broken."
    }
  }
}
`

// cloudOverride replaces the output of the no-op module.
const cloudOverride = `
output "health" {
  value = {
    state   = data.terraform_remote_state.cloud.outputs.state
    healthy = data.terraform_remote_state.cloud.outputs.state == "running"
    message = "Asked for."
    reasons = tolist([])
  }
}
`

// cloudImages are images of modules that ask the cloud.
var cloudImages struct {
	sync.Mutex
	refs map[contract.Role]string
}

// cloudImage is an image of the no-op module of a role that asks the cloud, built once.
func (w *world) cloudImage(role contract.Role) string {
	w.t.Helper()
	cloudImages.Lock()
	defer cloudImages.Unlock()
	if ref := cloudImages.refs[role]; ref != "" {
		return ref
	}
	first := map[contract.Role]string{contract.RoleCluster: "load_balancer", contract.RoleMachine: "instance"}[role]
	ref, err := shared.release.Module(w.t.Context(), role, map[string]string{
		"cloud.tf": fmt.Sprintf(cloudModule, first), "outputs_override.tf": cloudOverride,
	}, "test/cloud-"+string(role)+":v1")
	if err != nil {
		w.t.Fatal(err)
	}
	if cloudImages.refs == nil {
		cloudImages.refs = map[contract.Role]string{}
	}
	cloudImages.refs[role] = ref
	return ref
}

// ask lets the machines of a template ask the cloud; the template's name ends in a suffix.
func (w *world) ask(objects []*unstructured.Unstructured, suffix string, cloud *cloudAPI) *unstructured.Unstructured {
	w.t.Helper()
	for _, o := range of(objects, "TerraformMachineTemplate") {
		if strings.HasSuffix(o.GetName(), suffix) {
			template := []*unstructured.Unstructured{o}
			w.set(template, o.GetKind(), w.cloudImage(contract.RoleMachine), "spec", "template", "spec", "source", "image")
			w.set(template, o.GetKind(), map[string]any{"cloud": cloud.url}, "spec", "template", "spec", "variables")
			return o
		}
	}
	w.t.Fatalf("there is no template with a name that ends in %s", suffix)
	return nil
}
