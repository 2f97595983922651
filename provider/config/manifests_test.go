package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/captf-toolkit/captf/provider/internal/manager"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// builds are the kustomizations that were built already, since that takes seconds.
var builds = map[string][]*unstructured.Unstructured{}

// build builds a kustomization. What it returns is not to be changed.
func build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	if objects, done := builds[dir]; done {
		return objects
	}
	kubectl, err := tools.Find(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), kubectl, "kustomize", dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("building %s: %v\n%s", dir, err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("building %s: %s", dir, stderr.String())
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 1<<20)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(o); {
		case errors.Is(err, io.EOF):
			builds[dir] = objects
			return objects
		case err != nil:
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
}

// find returns the one object of a kind and name, as its type.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			out := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, out, true); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return out
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func TestDefault(t *testing.T) {
	objects := build(t, "default")
	count := map[string]int{}
	for _, o := range objects {
		count[o.GetKind()]++
		if o.GetLabels()["cluster.x-k8s.io/provider"] != "infrastructure-terraform" {
			t.Errorf("%s %s is not labelled as the provider's", o.GetKind(), o.GetName())
		}
		if ns := o.GetNamespace(); ns != "" && ns != "captf-system" {
			t.Errorf("%s %s is in namespace %s", o.GetKind(), o.GetName(), ns)
		}
		if kind := o.GetKind(); kind != "CustomResourceDefinition" && !strings.HasPrefix(o.GetName(), "captf-") {
			t.Errorf("%s has the name %s", kind, o.GetName())
		}
	}
	want := map[string]int{
		"Namespace": 1, "CustomResourceDefinition": 8, "ServiceAccount": 1, "Role": 1, "RoleBinding": 1, "ClusterRole": 5,
		"ClusterRoleBinding": 1, "Service": 1, "Deployment": 1, "PodDisruptionBudget": 1, "Certificate": 1, "Issuer": 1,
		"ValidatingWebhookConfiguration": 1, "ValidatingAdmissionPolicy": 1, "ValidatingAdmissionPolicyBinding": 1,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestPolicies holds bindings to policies that there are: a name that leads nowhere is no error to the API server.
func TestPolicies(t *testing.T) {
	objects := build(t, "default")
	binding := find[admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "ValidatingAdmissionPolicyBinding", "captf-foreground-deletion")
	policy := find[admissionv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy", binding.Spec.PolicyName)
	if p := policy.Spec.FailurePolicy; p == nil || *p != admissionv1.Fail {
		t.Errorf("the failure policy is %v", p)
	}
}

func TestDeployment(t *testing.T) {
	objects := build(t, "default")
	d := find[appsv1.Deployment](t, objects, "Deployment", "captf-controller-manager")
	pod := d.Spec.Template
	c := pod.Spec.Containers[0]

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !r.Allowed {
			t.Errorf("the pod is not restricted: %s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	if s := c.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		t.Error("the root file system can be written")
	}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is of the node", v.Name)
		}
	}

	cmd := manager.NewCommand(nil)
	if err := cmd.ParseFlags(c.Args); err != nil {
		t.Errorf("the manager does not know its arguments: %v", err)
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	for _, name := range []string{manager.EnvManagerImage, manager.EnvPodNamespace, manager.EnvServiceAccount} {
		if _, found := env[name]; !found {
			t.Errorf("variable %s is not set", name)
		}
	}
	if env[manager.EnvManagerImage] != c.Image {
		t.Errorf("the manager is told that it is %s, but it is %s", env[manager.EnvManagerImage], c.Image)
	}
	if pod.Spec.ServiceAccountName != find[corev1.ServiceAccount](t, objects, "ServiceAccount", "captf-controller-manager").Name {
		t.Errorf("the ServiceAccount is %s", pod.Spec.ServiceAccountName)
	}

	service := find[corev1.Service](t, objects, "Service", "captf-webhook-service")
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
		t.Errorf("the Service selects %v, pods have %v", service.Spec.Selector, pod.Labels)
	}
	if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal }) {
		t.Errorf("the Service leads to port %s, which there is not", service.Spec.Ports[0].TargetPort.String())
	}
	metrics := find[corev1.Service](t, build(t, "prometheus"), "Service", "captf-controller-manager-metrics")
	guard := find[networkingv1.NetworkPolicy](t, build(t, "network-policy"), "NetworkPolicy", "captf-controller-manager")
	for what, selector := range map[string]map[string]string{"metrics Service": metrics.Spec.Selector, "NetworkPolicy": guard.Spec.PodSelector.MatchLabels} {
		if !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			t.Errorf("the %s selects %v, pods have %v", what, selector, pod.Labels)
		}
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "Certificate":
			secret, _, _ := unstructured.NestedString(o.Object, "spec", "secretName")
			if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == secret }) {
				t.Errorf("Secret %s of the certificate is not mounted", secret)
			}
			names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
			if !slices.Contains(names, service.Name+"."+service.Namespace+".svc") {
				t.Errorf("the certificate is for %v", names)
			}
			issuer, _, _ := unstructured.NestedString(o.Object, "spec", "issuerRef", "name")
			if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Issuer" && o.GetName() == issuer }) {
				t.Errorf("there is no Issuer %s", issuer)
			}
		case "ValidatingWebhookConfiguration":
			if from := o.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != "captf-system/captf-serving-cert" {
				t.Errorf("the authority of the webhooks is from %q", from)
			}
		}
	}
}

// TestRoles: the manager binds the runner's role and no other, and every rule says what it is for.
func TestRoles(t *testing.T) {
	objects := build(t, "default")
	runner := find[rbacv1.ClusterRole](t, objects, "ClusterRole", "captf-runner")
	for _, r := range find[rbacv1.ClusterRole](t, objects, "ClusterRole", "captf-manager-role").Rules {
		if slices.Contains(r.Verbs, "bind") && !slices.Equal(r.ResourceNames, []string{runner.Name}) {
			t.Errorf("the manager may bind %v", r.ResourceNames)
		}
		for _, verb := range []string{"*", "escalate", "impersonate", "deletecollection"} {
			if slices.Contains(r.Verbs, verb) {
				t.Errorf("the manager may %s %v", verb, r.Resources)
			}
		}
	}
	for _, path := range []string{"manager_role.yaml", "runner_role.yaml"} {
		raw, err := os.ReadFile(filepath.Join("rbac", path))
		if err != nil {
			t.Fatal(err)
		}
		var role yamlv3.Node
		if err := yamlv3.Unmarshal(raw, &role); err != nil {
			t.Fatal(err)
		}
		fields := role.Content[0].Content
		for i := 0; i < len(fields); i += 2 {
			if fields[i].Value != "rules" {
				continue
			}
			for _, rule := range fields[i+1].Content {
				if rule.HeadComment == "" && rule.Content[0].HeadComment == "" {
					t.Errorf("%s:%d: the rule does not say what it is for", path, rule.Line)
				}
			}
		}
	}
}

// TestBuilds: each kustomization can be built by itself.
func TestBuilds(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "kustomization.yaml" && filepath.Dir(path) != filepath.Join("manager", "image") {
			t.Run(filepath.Dir(path), func(t *testing.T) { build(t, filepath.Dir(path)) })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
