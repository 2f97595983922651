// Package deploy installs the manifests of controller managers, as their releases have them, into a test control plane.
// What cert-manager and services do in a cluster is done in their place: webhooks and conversions are called on loopback,
// with a certificate that is put where the manager's Deployment looks for it.
//
// Not in this package: making the manifests, and running the pods of a Deployment, which package kubelet does.
package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
)

// Manifests are the objects of one release, or of several.
type Manifests struct {
	CRDs       []*apiextensionsv1.CustomResourceDefinition
	Mutating   []*admissionv1.MutatingWebhookConfiguration
	Validating []*admissionv1.ValidatingWebhookConfiguration
	// Deployments are not installed by Install: they need a node.
	Deployments []*appsv1.Deployment
	// Certificates are the Secrets that cert-manager would make.
	Certificates []types.NamespacedName
	// Others is all the rest, in its order.
	Others []*unstructured.Unstructured
}

// Decode reads the objects of a stream of YAML documents. Documents without content are passed over.
func Decode(text []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 1<<20)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// Read sorts the objects of releases by what has to be done with them.
func Read(texts ...[]byte) (*Manifests, error) {
	m := &Manifests{}
	for _, text := range texts {
		objects, err := Decode(text)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := m.add(o); err != nil {
				return nil, fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return m, nil
}

func (m *Manifests) add(o *unstructured.Unstructured) error {
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	switch o.GetKind() {
	case "CustomResourceDefinition":
		crd := &apiextensionsv1.CustomResourceDefinition{}
		m.CRDs = append(m.CRDs, crd)
		return convert(o.Object, crd)
	case "MutatingWebhookConfiguration":
		hook := &admissionv1.MutatingWebhookConfiguration{}
		m.Mutating = append(m.Mutating, hook)
		return convert(o.Object, hook)
	case "ValidatingWebhookConfiguration":
		hook := &admissionv1.ValidatingWebhookConfiguration{}
		m.Validating = append(m.Validating, hook)
		return convert(o.Object, hook)
	case "Deployment":
		d := &appsv1.Deployment{}
		m.Deployments = append(m.Deployments, d)
		return convert(o.Object, d)
	case "Certificate":
		name, _, err := unstructured.NestedString(o.Object, "spec", "secretName")
		if err == nil && name == "" {
			err = errors.New("spec.secretName is empty")
		}
		m.Certificates = append(m.Certificates, types.NamespacedName{Namespace: o.GetNamespace(), Name: name})
		return err
	case "Issuer": // cert-manager's
		return nil
	default:
		m.Others = append(m.Others, o)
		return nil
	}
}

// owner is the field owner of what is applied.
const owner = client.FieldOwner("testenv")

// Install installs everything but the Deployments. Admission of the kinds that the webhooks are about, and conversion
// between their versions, fail from then on until a server listens where Serving says.
func (m *Manifests) Install(ctx context.Context, env *testenv.Environment) (testenv.Serving, error) {
	c, err := client.New(env.Config(), client.Options{})
	if err != nil {
		return testenv.Serving{}, fmt.Errorf("installing manifests: %w", err)
	}
	for _, o := range m.Others {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership); err != nil {
			return testenv.Serving{}, fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	serving, err := env.InstallWebhooks(ctx, testenv.Webhooks{Mutating: m.Mutating, Validating: m.Validating})
	if err != nil {
		return testenv.Serving{}, err
	}
	if len(m.CRDs) > 0 {
		edit := func(d *apiextensionsv1.CustomResourceDefinition) { convertAt(d, serving) }
		if err := env.InstallCRDs(ctx, testenv.CRDs{Objects: m.CRDs, Edit: edit}); err != nil {
			return testenv.Serving{}, err
		}
	}
	for _, name := range m.Certificates {
		if err := m.certificate(ctx, c, name, serving); err != nil {
			return testenv.Serving{}, err
		}
	}
	return serving, nil
}

// convertAt replaces the service that converts between versions by the address on loopback.
func convertAt(d *apiextensionsv1.CustomResourceDefinition, s testenv.Serving) {
	if d.Spec.Conversion == nil || d.Spec.Conversion.Webhook == nil || d.Spec.Conversion.Webhook.ClientConfig == nil {
		return
	}
	at := d.Spec.Conversion.Webhook.ClientConfig
	path := "/convert"
	if at.Service != nil && at.Service.Path != nil {
		path = *at.Service.Path
	}
	url := fmt.Sprintf("https://%s%s", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), path)
	at.Service, at.URL, at.CABundle = nil, &url, s.CA
}

// certificate makes a Secret with the certificate of the webhooks, or renews it: an upgrade of a release leaves it.
func (m *Manifests) certificate(ctx context.Context, c client.Client, name types.NamespacedName, s testenv.Serving) error {
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"ca.crt": s.CA}}
	secret.Namespace, secret.Name = name.Namespace, name.Name
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		content, err := os.ReadFile(filepath.Join(s.CertDir, key))
		if err != nil {
			return fmt.Errorf("reading the certificate of the webhooks: %w", err)
		}
		secret.Data[key] = content
	}
	err := c.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		err = c.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("writing the certificate of the webhooks: %w", err)
	}
	return nil
}

// MetricsPort is the name of a manager's port with metrics.
const MetricsPort = "metrics"

// OnLoopback fits the Deployment of a manager to a node whose pods all have this machine's network: one replica, and ports
// that are free. Flags are added to those of its first container; of equal ones the last counts.
func OnLoopback(ctx context.Context, d *appsv1.Deployment, s testenv.Serving, flags ...string) error {
	health, err := freePort(ctx)
	if err != nil {
		return err
	}
	metrics, err := freePort(ctx)
	if err != nil {
		return err
	}
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return fmt.Errorf("fitting Deployment %s: it has no container", d.Name)
	}
	d.Spec.Replicas = new(int32(1))
	c := &d.Spec.Template.Spec.Containers[0]
	for i := range c.Ports {
		switch c.Ports[i].Name {
		case "healthz":
			c.Ports[i].ContainerPort = int32(health) //nolint:gosec // a port
		case MetricsPort:
			c.Ports[i].ContainerPort = int32(metrics) //nolint:gosec // a port
		case "webhook-server":
			c.Ports[i].ContainerPort = int32(s.Port) //nolint:gosec // a port
		}
	}
	c.Args = append(c.Args, "--webhook-host="+s.Host, fmt.Sprintf("--webhook-port=%d", s.Port),
		fmt.Sprintf("--health-addr=127.0.0.1:%d", health), fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", metrics))
	c.Args = append(c.Args, flags...)
	return nil
}

// freePort is a port of this machine that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
