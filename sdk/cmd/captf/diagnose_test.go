package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/diagnose/diagnosetest"
)

// onServer are the cases of sdk/diagnose that are played on a real API server: those that do not need an object's age.
var onServer = []string{
	"healthy", "healthy-pool", "paused-cluster", "topology-failed", "inputs-variables-invalid", "credentials-secret-missing", "state-locked",
	"job-image-pull", "job-quota", "module-apply-failed", "module-three-machines-fail", "outputs-invalid", "endpoint-never-set",
	"infrastructure-aws-cluster-failed", "infrastructure-aws-machine-failed", "bootstrap-failed", "control-plane-etcd", "node-never-joined",
	"node-no-cni", "connection-down", "workers-preflight", "workers-pool-short", "remediation-too-many", "rollout-working",
	"deletion-drain", "deletion-destroy-failed", "deletion-retain", "upkeep-drift", "several-independent",
}

// server is a real API server with the kinds of Cluster API, ours, and some of another provider, and a user who may read
// everything but Secrets.
type server struct {
	admin      client.Client
	env        *testenv.Environment
	kubeconfig string
}

func startServer(t *testing.T) *server {
	t.Helper()
	ctx := t.Context()
	env, err := testenv.Start(ctx, testenv.Options{Binaries: tools.Find})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := env.InstallCRDs(ctx, testenv.CRDs{Paths: crdPaths(t), Objects: foreignCRDs("AWSCluster", "AWSMachine", "AWSMachineTemplate")}); err != nil {
		t.Fatal(err)
	}
	config := env.Config()
	config.WarningHandler = rest.NoWarnings{} // names of machines are longer than those of hosts
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{admin: admin, env: env}
	s.kubeconfig = s.user(t, "oncall",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"pods", "jobs", "events"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	)
	return s
}

// user makes a user with rights, and returns the user's kubeconfig.
func (s *server) user(t *testing.T, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	config, err := s.env.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		},
	} {
		if err := s.admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return writeKubeconfig(t, config)
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	data, err := testenv.Kubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// crdPaths are the definitions of Cluster API's kinds, from its module, and of ours.
func crdPaths(t *testing.T) []string {
	t.Helper()
	dir := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-m", "-f", "{{.Dir}}"}, args...)...).Output()
		if err != nil {
			t.Fatalf("finding a module: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	capi := dir("sigs.k8s.io/cluster-api")
	paths := []string{filepath.Join(dir(), "provider", "config", "crd", "bases")}
	for part, kinds := range map[string][]string{
		"core":                 {"cluster.x-k8s.io_clusters", "cluster.x-k8s.io_clusterclasses", "cluster.x-k8s.io_machines", "cluster.x-k8s.io_machinesets", "cluster.x-k8s.io_machinedeployments", "cluster.x-k8s.io_machinepools", "cluster.x-k8s.io_machinehealthchecks"},
		"bootstrap/kubeadm":    {"bootstrap.cluster.x-k8s.io_kubeadmconfigs", "bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates"},
		"controlplane/kubeadm": {"controlplane.cluster.x-k8s.io_kubeadmcontrolplanes"},
	} {
		for _, kind := range kinds {
			paths = append(paths, filepath.Join(capi, filepath.FromSlash(part), "config", "crd", "bases", kind+".yaml"))
		}
	}
	return paths
}

// foreignCRDs define kinds of another provider, with whatever fields.
func foreignCRDs(kinds ...string) []*apiextensionsv1.CustomResourceDefinition {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range kinds {
		lower := strings.ToLower(kind)
		out = append(out, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: lower + "s.infrastructure.cluster.x-k8s.io"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "infrastructure.cluster.x-k8s.io", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: lower + "s", Singular: lower},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1beta2", Served: true, Storage: true,
					Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				}},
			},
		})
	}
	return out
}

// times are those of the cases, which are as of noon.
var times = regexp.MustCompile(`2026-01-10T\d\d:\d\d:\d\d(\.\d+)?Z`)

// load makes the objects of a case in a namespace of their own, with their status, as if it were noon of the cases now.
func (s *server) load(t *testing.T, name, namespace string) (expect string) {
	t.Helper()
	c, err := diagnosetest.Read(filepath.Join("..", "..", "diagnose", "testdata", "cases"), name)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Since(time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC))
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	s.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}) // pods are made for it
	for i := range c.Objects {
		raw, err := c.Objects[i].MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		raw = times.ReplaceAllFunc(raw, func(text []byte) []byte {
			at, err := time.Parse(time.RFC3339, string(text))
			if err != nil {
				t.Fatal(err)
			}
			format := time.RFC3339
			if bytes.ContainsRune(text, '.') {
				format = "2006-01-02T15:04:05.000000Z07:00"
			}
			return []byte(at.Add(later).UTC().Format(format))
		})
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		s.place(t, obj, namespace)
	}
	return c.Expect
}

// place makes one object, and deletes it if it is to be in deletion.
func (s *server) place(t *testing.T, obj *unstructured.Unstructured, namespace string) {
	t.Helper()
	ctx := t.Context()
	deleted := obj.GetDeletionTimestamp() != nil
	for _, field := range []string{"creationTimestamp", "deletionTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if obj.GetNamespace() != "" {
		obj.SetNamespace(namespace)
	}
	if regarding, ok := obj.Object["regarding"].(map[string]any); ok {
		regarding["namespace"] = namespace
	}
	status := obj.Object["status"]
	delete(obj.Object, "status")
	s.create(t, obj)
	if obj.GetNamespace() == "" {
		t.Cleanup(func() {
			if err := s.admin.Delete(context.WithoutCancel(ctx), obj); err != nil { // the next case has its own
				t.Error(err)
			}
		})
	}
	if status != nil {
		obj.Object["status"] = status
		if err := s.admin.Status().Update(ctx, obj); err != nil {
			t.Fatalf("writing the status of %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	if deleted {
		if err := s.admin.Delete(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *server) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := s.admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("making %T %s: %v", obj, obj.GetName(), err)
	}
}

// TestDiagnoseOnServer runs the command on a real API server, with the definitions of Cluster API and of the provider, as a
// user who may not read Secrets.
func TestDiagnoseOnServer(t *testing.T) {
	s := startServer(t)
	for i, name := range onServer {
		t.Run(name, func(t *testing.T) {
			namespace := fmt.Sprintf("shop-%d", i)
			expect := s.load(t, name, namespace)
			code, stdout, stderr := captf(t, "diagnose", "prod", "-n", namespace, "--kubeconfig", s.kubeconfig, "-o", "json")
			var d diagnose.Diagnosis
			if err := json.Unmarshal([]byte(stdout), &d); err != nil {
				t.Fatalf("exit code %d, %v: %s", code, err, stderr)
			}
			got := string(d.Verdict)
			if list := slices.Concat(d.Problems, d.Notes); len(list) > 0 {
				got += fmt.Sprintf(" %s %s/%s", list[0].Gate, list[0].Object.Kind, list[0].Object.Name)
			}
			if got != expect || len(d.Unread) > 0 {
				t.Errorf("got %q, want %q; not read: %v\n%s", got, expect, d.Unread, stdout)
			}
			want := exitFailed
			if d.Verdict == diagnose.VerdictHealthy {
				want = exitOK
			}
			if code != want || stderr != "" {
				t.Errorf("exit code %d, want %d; stderr %q", code, want, stderr)
			}
			for _, p := range d.Problems {
				for _, c := range p.Commands {
					s.describe(t, c, p.Object.Name)
				}
			}
			for _, output := range []string{"text", "tree"} {
				if again, text, _ := captf(t, "diagnose", "prod", "-n", namespace, "--kubeconfig", s.kubeconfig, "-o", output); again != code || !strings.HasPrefix(text, "Cluster "+namespace+"/prod is ") {
					t.Errorf("exit code %d: %s", again, text)
				}
			}
		})
	}
	t.Run("what may not be read", func(t *testing.T) { s.forbidden(t, "shop-0") })
	t.Run("what cannot be answered", func(t *testing.T) { s.unanswered(t, "shop-0") })
}

// describe runs a command that was shown, if it describes an object of the management cluster.
func (s *server) describe(t *testing.T, command, name string) {
	t.Helper()
	words := strings.Fields(command)
	if words[0] != "kubectl" || !slices.Contains(words, "describe") || !slices.Contains(words, s.kubeconfig) || slices.Contains(words, "nodes") {
		return
	}
	kubectl, err := tools.Find(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), kubectl, words[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Name: ") {
		t.Errorf("%s (for %s): %v\n%s", command, name, err, out)
	}
}

// forbidden asks as somebody who may list some kinds only.
func (s *server) forbidden(t *testing.T, namespace string) {
	kubeconfig := s.user(t, "half", rbacv1.PolicyRule{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters", "machines"}, Verbs: []string{"list"}})
	code, stdout, stderr := captf(t, "diagnose", "prod", "-n", namespace, "--kubeconfig", kubeconfig, "--kubeconfig-context", "testenv")
	for _, want := range []string{"not looked at: machinehealthchecks.cluster.x-k8s.io", "not looked at: events.events.k8s.io", "may not be read"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() || code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	nobody := s.user(t, "nobody")
	if code, _, stderr := captf(t, "diagnose", "prod", "-n", namespace, "--kubeconfig", nobody); code != exitError || !strings.Contains(stderr, "forbidden") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// unanswered asks for what is not there.
func (s *server) unanswered(t *testing.T, namespace string) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"staging", "-n", namespace}, "there is no such Cluster: there are prod"},
		{[]string{"staging"}, "reading Cluster default/staging: there is no such Cluster: the namespace has none"},
		{[]string{"prod", "-n", namespace, "--kubeconfig-context", "other"}, `context "other" does not exist`},
	} {
		code, stdout, stderr := captf(t, append([]string{"diagnose", "--kubeconfig", s.kubeconfig}, c.args...)...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("captf diagnose %v: exit code %d: %s%s", c.args, code, stdout, stderr)
		}
	}
}

func TestDiagnoseUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "the name of one Cluster is needed"},
		{[]string{"shop/prod"}, exitUsage, "its namespace is given by --namespace"},
		{[]string{"prod", "-o", "xml"}, exitUsage, "text, tree, json"},
		{[]string{"prod", "--kubeconfig", filepath.Join(t.TempDir(), "none")}, exitError, "no such file"},
	} {
		code, stdout, stderr := captf(t, append([]string{"diagnose"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("captf diagnose %v: exit code %d: %s%s", c.args, code, stdout, stderr)
		}
	}
}

// TestDiagnoseTimeout gives up on an API server that does not answer.
func TestDiagnoseTimeout(t *testing.T) {
	t.Parallel()
	kubeconfig := writeKubeconfig(t, &rest.Config{Host: "http://192.0.2.1:6443"}) // an address that nobody has
	code, stdout, stderr := captf(t, "diagnose", "prod", "--kubeconfig", kubeconfig, "--timeout", "50ms")
	if code != exitError || stdout != "" || !strings.HasPrefix(stderr, "Error: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestDiagnoseSelects(t *testing.T) {
	t.Parallel()
	f := diagnoseFlags{kubeconfig: "/a b/it's", context: "prod"}
	if got, want := f.selects("--context"), ` --kubeconfig '/a b/it'\''s' --context prod`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (&diagnoseFlags{}).selects("--context"); got != "" {
		t.Errorf("got %q", got)
	}
}
