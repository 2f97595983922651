package deploy_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

func release(t *testing.T) *deploy.Manifests {
	t.Helper()
	text, err := os.ReadFile("testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := deploy.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestInstall installs a release and looks at what is called where.
func TestInstall(t *testing.T) { install(t, release(t)) }

// TestInstalled lets somebody else install the release, as it is, and fits it to loopback afterwards.
func TestInstalled(t *testing.T) {
	env := tools.Environment(t)
	ctx := t.Context()
	if err := env.InstallCRDs(ctx, testenv.CRDs{Objects: deploy.CertManager()}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := deploy.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Whichever test is first, it leaves these, and the Secret of the certificate, which the other one renews.
	for _, o := range objects {
		if strings.HasSuffix(o.GetKind(), "WebhookConfiguration") || o.GetKind() == "CustomResourceDefinition" {
			if err := client.IgnoreNotFound(c.Delete(ctx, o.DeepCopy())); err != nil {
				t.Fatal(err)
			}
			for err := error(nil); !apierrors.IsNotFound(err); err = c.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy()) {
				if ctx.Err() != nil {
					t.Fatal(ctx.Err())
				}
			}
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("installer"), client.ForceOwnership); err != nil {
			t.Fatalf("%s %s: %s", o.GetKind(), o.GetName(), err)
		}
	}
	none, err := deploy.Installed(ctx, env, "other-system")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(none.CRDs) + len(none.Mutating) + len(none.Validating) + len(none.Deployments) + len(none.Certificates); n != 0 {
		t.Errorf("another namespace has %d objects", n)
	}
	m, err := deploy.Installed(ctx, env, "widgets-system")
	if err != nil {
		t.Fatal(err)
	}
	install(t, m)
}

func install(t *testing.T, m *deploy.Manifests) {
	t.Helper()
	env := tools.Environment(t)
	serving, err := m.Install(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("https://%s:%d/", serving.Host, serving.Port)

	c, err := client.New(env.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(kind, version, namespace, name string) *unstructured.Unstructured {
		t.Helper()
		o := &unstructured.Unstructured{}
		o.SetKind(kind)
		o.SetAPIVersion(version)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for kind, path := range map[string]string{"ValidatingWebhookConfiguration": "validate", "MutatingWebhookConfiguration": "mutate"} {
		name := map[string]string{"validate": "widgets-validating", "mutate": "widgets-mutating"}[path]
		hooks, _, err := unstructured.NestedSlice(get(kind, "admissionregistration.k8s.io/v1", "", name).Object, "webhooks")
		if err != nil || len(hooks) != 1 {
			t.Fatalf("%s has the webhooks %v: %v", kind, hooks, err)
		}
		hook, _ := hooks[0].(map[string]any)
		if url, _, _ := unstructured.NestedString(hook, "clientConfig", "url"); strings.Replace(url, at+"/", at, 1) != at+path { // envtest writes two slashes
			t.Errorf("%s is called at %s, want %s", kind, url, at+path)
		}
	}
	crd := get("CustomResourceDefinition", "apiextensions.k8s.io/v1", "", "widgets.example.com")
	if url, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "url"); url != at+"convert-widgets" {
		t.Errorf("versions are converted at %s", url)
	}
	if color, _, _ := unstructured.NestedString(get("ConfigMap", "v1", "widgets-system", "settings").Object, "data", "color"); color != "blue" {
		t.Errorf("the ConfigMap has the color %q", color)
	}
	secret, err := env.Clients().CoreV1().Secrets("widgets-system").Get(t.Context(), "serving-certificate", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"]); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(secret.Data["ca.crt"], serving.CA) {
		t.Error("the Secret has the certificate of another installation")
	}

	d := m.Deployments[0]
	if err := deploy.OnLoopback(t.Context(), d, serving, "--more=1"); err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	health, metrics := container.Ports[1].ContainerPort, container.Ports[2].ContainerPort
	for _, flag := range []string{
		"--leader-elect", "--webhook-host=" + serving.Host, fmt.Sprintf("--webhook-port=%d", serving.Port),
		fmt.Sprintf("--health-addr=127.0.0.1:%d", health), fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", metrics), "--more=1",
	} {
		if !slices.Contains(container.Args, flag) {
			t.Errorf("the flag %s is not among %v", flag, container.Args)
		}
	}
	if *d.Spec.Replicas != 1 || int(container.Ports[0].ContainerPort) != serving.Port || health == 9440 || metrics == 8443 {
		t.Errorf("the Deployment has %d replicas and the ports %+v", *d.Spec.Replicas, container.Ports)
	}
}

// TestRefused says what is wrong with manifests.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":             {"{", "reading manifests"},
		"no Secret":           {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: x}\n", "Certificate x: spec.secretName is empty"},
		"a wrong definition":  {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: 1\n", "CustomResourceDefinition x"},
		"a wrong Deployment":  {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: many}\n", "Deployment x"},
		"a wrong Certificate": {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: x}\nspec: {secretName: 1}\n", "Certificate x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := deploy.Read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
	if err := deploy.OnLoopback(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}, testenv.Serving{}); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("a Deployment without a container: %v", err)
	}
}
