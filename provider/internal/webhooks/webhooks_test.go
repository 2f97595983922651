package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/webhooks"
)

// TestConfiguration compares the generated configuration with what is promised of it (provider-api.md 10).
func TestConfiguration(t *testing.T) {
	raw, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	served := paths{}
	if err := webhooks.Register(served, options(nil)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, hook := range config.Webhooks {
		rule := hook.Rules[0]
		if len(hook.Rules) != 1 || *hook.TimeoutSeconds != 10 || hook.NamespaceSelector != nil || hook.ObjectSelector != nil ||
			*hook.SideEffects != admissionregistrationv1.SideEffectClassNone || *hook.MatchPolicy != admissionregistrationv1.Equivalent {
			t.Errorf("%s has another time, selector, side effect or match policy than all have", hook.Name)
		}
		if served[*hook.ClientConfig.Service.Path] == nil {
			t.Errorf("%s is sent to %s, where nothing is served", hook.Name, *hook.ClientConfig.Service.Path)
		}
		got = append(got, fmt.Sprint(hook.Name, " ", rule.Operations, " ", rule.Resources, " ", *hook.FailurePolicy))
	}
	var want []string
	const suffix = ".infrastructure.cluster.x-k8s.io"
	for _, kind := range []string{
		"terraformcluster", "terraformclustertemplate", "terraformmachine", "terraformmachinetemplate", "terraformmachinepool",
		"terraformmachinepooltemplate", "terraformclusteridentity", "terraformplan",
	} {
		plural := strings.ReplaceAll(kind+"s", "identitys", "identities")
		want = append(want, fmt.Sprintf("validation.%s%s [CREATE UPDATE] [%s] Fail", kind, suffix, plural))
		if kind == "terraformmachine" || kind == "terraformclusteridentity" {
			want = append(want, fmt.Sprintf("delete.validation.%s%s [DELETE] [%s] Ignore", kind, suffix, plural))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the configuration differs (-want +got):\n%s", diff)
	}
}

// TestUnanswered asks what admission says when the API server does not answer it: a right that could not be asked for is
// not taken as given.
func TestUnanswered(t *testing.T) {
	served := paths{}
	if err := webhooks.Register(served, options(broken{})); err != nil {
		t.Fatal(err)
	}
	identity := &infrav1.TerraformClusterIdentity{Spec: infrav1.TerraformClusterIdentitySpec{
		SecretRef: &infrav1.IdentitySecretReference{Name: "cloud", Namespace: "credentials"},
	}}
	approved := &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		infrav1.AnnotationApprovePlan: "p2:1",
	}}}
	approved.Spec.Source.Image = "ghcr.io/o/r:v1"
	owned := &infrav1.TerraformMachine{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "m1", UID: "1",
	}}}}
	for _, c := range []struct {
		name      string
		operation admissionv1.Operation
		kind      string
		object    runtime.Object
	}{
		{"identity", admissionv1.Create, "TerraformClusterIdentity", identity},
		{"identity in use", admissionv1.Delete, "TerraformClusterIdentity", identity},
		{"approval", admissionv1.Create, "TerraformCluster", approved},
		{"machine", admissionv1.Delete, "TerraformMachine", owned},
		{"machine without owner", admissionv1.Delete, "TerraformMachine", &infrav1.TerraformMachine{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := ask(t, served, c.kind, c.operation, c.object)
			if answer.Allowed || answer.Result.Code != http.StatusInternalServerError || !strings.Contains(answer.Result.Message, errBroken.Error()) {
				t.Errorf("the answer is %+v", answer.AdmissionResponse)
			}
		})
	}
}

// TestUnreadable sends what is no object of the kind.
func TestUnreadable(t *testing.T) {
	served := paths{}
	if err := webhooks.Register(served, options(broken{})); err != nil {
		t.Fatal(err)
	}
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete} {
		r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation}}
		r.Object.Raw, r.OldObject.Raw = []byte(`{"spec": []}`), []byte(`{"spec": []}`)
		answer := served[webhooks.Path("TerraformPlan")].(*admission.Webhook).Handler.Handle(t.Context(), r)
		if answer.Allowed || answer.Result.Code != http.StatusBadRequest {
			t.Errorf("%s: the answer is %+v", operation, answer.AdmissionResponse)
		}
	}
}

// TestNullVariable: null is a value, which the API machinery reads as nothing.
func TestNullVariable(t *testing.T) {
	served := paths{}
	if err := webhooks.Register(served, options(nil)); err != nil {
		t.Fatal(err)
	}
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
	r.Object.Raw = []byte(`{"spec": {"source": {"image": "ghcr.io/o/r:v1"}, "variables": {"a": null}}}`)
	answer := served[webhooks.Path("TerraformMachinePool")].(*admission.Webhook).Handler.Handle(t.Context(), r)
	if !answer.Allowed {
		t.Errorf("the answer is %+v", answer.AdmissionResponse)
	}
}

func TestRegisterIncomplete(t *testing.T) {
	for name, o := range map[string]webhooks.Options{
		"scheme": {Client: broken{}, Live: broken{}},
		"client": {Scheme: scheme(), Live: broken{}},
		"reader": {Scheme: scheme(), Client: broken{}},
	} {
		if err := webhooks.Register(paths{}, o); err == nil {
			t.Errorf("registering without a %s is no error", name)
		}
	}
}

func TestManagerName(t *testing.T) {
	if got := webhooks.ManagerName("captf-system", "captf-controller-manager"); got != manager {
		t.Errorf("the manager is %q, and should be %q", got, manager)
	}
	for _, part := range [][2]string{{"", "a"}, {"a", ""}} {
		if got := webhooks.ManagerName(part[0], part[1]); got != "" {
			t.Errorf("the manager of %q is %q; with half a name nobody is", part, got)
		}
	}
}

func ask(t *testing.T, served paths, kind string, operation admissionv1.Operation, object runtime.Object) admission.Response {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, Name: "one", Namespace: "default"}}
	if operation == admissionv1.Delete {
		r.OldObject.Raw = raw
	} else {
		r.Object.Raw = raw
	}
	return served[webhooks.Path(kind)].(*admission.Webhook).Handler.Handle(t.Context(), r)
}

// paths keeps what is registered.
type paths map[string]http.Handler

func (p paths) Register(path string, hook http.Handler) { p[path] = hook }

func options(c client.Client) webhooks.Options {
	if c == nil {
		c = broken{}
	}
	return webhooks.Options{Scheme: scheme(), Client: c, Live: c, Manager: manager}
}

var errBroken = errors.New("the connection is broken")

// broken is an API server that cannot be reached. Only what admission uses is there.
type broken struct{ client.Client }

func (broken) Create(context.Context, client.Object, ...client.CreateOption) error { return errBroken }

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errBroken
}

func (broken) List(context.Context, client.ObjectList, ...client.ListOption) error { return errBroken }
