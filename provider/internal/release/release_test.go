package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

const (
	repository = "registry.example.com/captf/manager"
	digest     = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

var root = filepath.Join("..", "..", "..")

// files makes a release and returns its files by name.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	kubectl, err := tools.Find(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Make(t.Context(), Options{
		Root: root, Version: "v0.1.0", Image: repository, Digest: digest, Out: filepath.Join(t.TempDir(), "out"), Kubectl: kubectl,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Image != repository+"@"+digest {
		t.Errorf("image %s", r.Image)
	}
	out := map[string][]byte{}
	for _, path := range r.Files {
		if out[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// decode returns the objects of a file.
func decode(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 1<<20)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
}

func TestFiles(t *testing.T) {
	got := files(t)
	for _, name := range []string{
		"infrastructure-components.yaml", "metadata.yaml", "cluster-template.yaml", "cluster-template-machinepool.yaml",
		"cluster-template-clusterclass.yaml", "clusterclass-noop.yaml", "identity.yaml",
	} {
		if len(got[name]) == 0 {
			t.Errorf("the release has no %s", name)
		}
	}
	components := string(got["infrastructure-components.yaml"])
	if n := strings.Count(components, repository+"@"+digest); n != 2 {
		t.Errorf("the components name the image %d times: the container and its environment do", n)
	}
	if strings.Contains(components, "captf-manager:latest") {
		t.Error("the components name the image of the work tree")
	}
}

func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"version":      {func(o *Options) { o.Version = "1.0" }, "like v0.1.0"},
		"series":       {func(o *Options) { o.Version = "v77.0.0" }, "does not list the series of v77.0.0"},
		"image":        {func(o *Options) { o.Image = "registry.example.com/x:v1" }, "repository without tag"},
		"digest":       {func(o *Options) { o.Digest = "sha256:12" }, "64 hexadecimal digits"},
		"no directory": {func(o *Options) { o.Out = "" }, "directory of the release is missing"},
		"no kubectl":   {func(o *Options) { o.Kubectl = "/nowhere/kubectl" }, "building the manifests with /nowhere/kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			kubectl, err := tools.Find(t.Context(), "kubectl")
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Root: root, Version: "v0.1.0", Image: repository, Digest: digest, Out: t.TempDir(), Kubectl: kubectl}
			test.change(&o)
			_, err = Make(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v does not say %q", err, test.want)
			}
			if left, _ := os.ReadDir(o.Out); o.Out != "" && len(left) > 0 {
				t.Errorf("something was written: %v", left)
			}
		})
	}
}

// TestImage makes a whole release, once into a registry and once into a layout: the same image, whose programs say what they are.
func TestImage(t *testing.T) {
	kubectl, err := tools.Find(t.Context(), "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.Start(t.Context(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	o := Options{
		Root: root, Version: "v0.1.0", Commit: "0123456789", Image: r.Host() + "/captf/manager", Out: filepath.Join(t.TempDir(), "out"), Kubectl: kubectl,
		Platforms: []image.Platform{{OS: "linux", Arch: goruntime.GOARCH}},
	}

	r.SetDown(true)
	o.Progress = func(line string) { t.Errorf("something was done before the registry was asked: %s", line) }
	if _, err := Make(t.Context(), o); err == nil || !strings.Contains(err.Error(), "publishing "+o.Image+":v0.1.0") {
		t.Errorf("error %v does not name the image", err)
	}
	if _, err := os.Stat(o.Out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a release that failed left its directory: %v", err)
	}
	r.SetDown(false)

	o.Progress = nil
	made, err := Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(made.Image)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(ref, remote.WithContext(t.Context()), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: goruntime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{"manager": "v0.1.0", "runner": "v0.1.0"} {
		out, err := exec.CommandContext(t.Context(), extract(t, pulled, program), "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s --version: %v: %s", program, err, out)
		}
	}

	cmd := NewCommand()
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(io.Discard)
	out := filepath.Join(t.TempDir(), "layout")
	cmd.SetArgs([]string{
		"--root", root, "--version", o.Version, "--commit", o.Commit, "--image", o.Image, "--out", out, "--kubectl", kubectl,
		"--platform", "linux/" + goruntime.GOARCH, "--layout",
	})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(stdout.String()), "\n"); got[len(got)-1] != made.Image || got[0] != filepath.Join(out, filepath.Base(made.Files[0])) {
		t.Errorf("the release with a layout is %q, wanted %s and its files", got, made.Image)
	}
	if _, err := layout.ImageIndexFromPath(filepath.Join(out, "image")); err != nil {
		t.Error(err)
	}
}

// extract writes a program of an image into a file.
func extract(t *testing.T, from v1.Image, program string) string {
	t.Helper()
	files := mutate.Extract(from)
	defer files.Close()
	for archive := tar.NewReader(files); ; {
		h, err := archive.Next()
		if err != nil {
			t.Fatalf("looking for %s in the image: %v", program, err)
		}
		if path.Base(h.Name) != program || h.Typeflag != tar.TypeReg {
			continue
		}
		to, err := os.OpenFile(filepath.Join(t.TempDir(), program), os.O_CREATE|os.O_WRONLY, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, archive); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		return to.Name()
	}
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::=([^}]*))?\}`)

// values are those of the variables of templates.
var values = map[string]string{
	"CLUSTER_NAME": "one", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.3", "CONTROL_PLANE_MACHINE_COUNT": "3",
	"WORKER_MACHINE_COUNT": "2", "TERRAFORM_IDENTITY_NAME": "cloud", "TERRAFORM_CLUSTER_IMAGE": "registry.example.com/cluster:v1",
	"TERRAFORM_MACHINE_IMAGE": "registry.example.com/machine:v1", "TERRAFORM_MACHINEPOOL_IMAGE": "registry.example.com/pool:v1",
}

// defaults are those of provider-ops.md 8.
var defaults = map[string]string{
	"POD_CIDR": "192.168.0.0/16", "SERVICE_CIDR": "10.128.0.0/12",
	"TERRAFORM_NODE_STARTUP_TIMEOUT": "1200", "TERRAFORM_UNHEALTHY_TIMEOUT": "1800",
	"TERRAFORM_CP_NODE_STARTUP_TIMEOUT": "1800", "TERRAFORM_CP_UNHEALTHY_TIMEOUT": "3600",
}

// TestTemplates: every template is made of objects that Cluster API and the provider know, field by field, and its variables
// are those that are documented.
func TestTemplates(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{
		"cluster-template.yaml": {
			"Cluster", "TerraformCluster", "KubeadmControlPlane", "TerraformMachineTemplate", "MachineHealthCheck", "MachineDeployment",
			"TerraformMachineTemplate", "KubeadmConfigTemplate", "MachineHealthCheck",
		},
		"cluster-template-machinepool.yaml": {
			"Cluster", "TerraformCluster", "KubeadmControlPlane", "TerraformMachineTemplate", "MachineHealthCheck", "MachinePool",
			"TerraformMachinePool", "KubeadmConfig",
		},
		"cluster-template-clusterclass.yaml": {"Cluster"},
		"clusterclass-noop.yaml": {
			"ClusterClass", "TerraformClusterTemplate", "KubeadmControlPlaneTemplate", "TerraformMachineTemplate", "TerraformMachineTemplate",
			"KubeadmConfigTemplate",
		},
		"identity.yaml": {"Secret", "TerraformClusterIdentity"},
	}
	for name, kinds := range want {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "provider", "templates", name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "clusterclass-noop.yaml" && variable.Match(text) {
				t.Error("it has variables of clusterctl: it is applied as it is")
			}
			filled := variable.ReplaceAllStringFunc(string(text), func(v string) string {
				m := variable.FindStringSubmatch(v)
				if value, found := values[m[1]]; found && m[2] == "" {
					return value
				}
				if defaults[m[1]] == "" || defaults[m[1]] != m[2] {
					t.Errorf("variable %s has the default %q", m[1], m[2])
				}
				return m[2]
			})
			var got []string
			for _, o := range decode(t, []byte(filled)) {
				got = append(got, o.GetKind())
				typed, err := scheme.New(o.GroupVersionKind())
				if err != nil {
					t.Fatal(err)
				}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
			if !slices.Equal(got, kinds) {
				t.Errorf("objects %v, not %v", got, kinds)
			}
		})
	}
}

// permissive is a CRD that takes anything, for kinds of others that the components use.
func permissive(group, version, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural, Singular: strings.ToLower(kind), ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
}

// TestComponentsOnAPIServer: a real API server takes every object of a release, with nothing in it that it does not know.
func TestComponentsOnAPIServer(t *testing.T) {
	objects := decode(t, files(t)["infrastructure-components.yaml"])
	env := tools.Environment(t)
	err := env.InstallCRDs(t.Context(), testenv.CRDs{Objects: []*apiextensionsv1.CustomResourceDefinition{
		permissive("cert-manager.io", "v1", "Issuer", "issuers"), permissive("cert-manager.io", "v1", "Certificate", "certificates"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config(), client.Options{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		options := []client.ApplyOption{client.FieldOwner("clusterctl"), client.ForceOwnership}
		// What is in a namespace needs it, so that is really made; webhooks would call a manager that is not there.
		if o.GetKind() != "Namespace" && o.GetKind() != "CustomResourceDefinition" {
			options = append(options, client.DryRunAll)
		}
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), options...); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}
