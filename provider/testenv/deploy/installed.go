package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
)

// certManager is the API of cert-manager.
var certManager = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// CertManager returns definitions of cert-manager's kinds that accept anything, for installers that make such objects.
func CertManager() []*apiextensionsv1.CustomResourceDefinition {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range []string{"Issuer", "Certificate"} {
		lower := strings.ToLower(kind)
		preserve := true
		out = append(out, &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: lower + "s." + certManager.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: certManager.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: lower + "s", Singular: lower},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: certManager.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: &preserve,
					}},
				}},
			},
		})
	}
	return out
}

// Installed reads what an installer has put into some namespaces and left to services and to cert-manager there: webhooks and
// definitions that call a service, Certificates and Deployments. Install then lets them be called on loopback. Cert-manager's
// kinds have to be there.
func Installed(ctx context.Context, env *testenv.Environment, namespaces ...string) (*Manifests, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("reading what is installed: %w", err)
		}
	}
	c, err := client.New(env.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reading what is installed: %w", err)
	}
	m := &Manifests{}
	if err := m.read(ctx, c, namespaces); err != nil {
		return nil, fmt.Errorf("reading what is installed: %w", err)
	}
	return m, nil
}

func (m *Manifests) read(ctx context.Context, c client.Client, namespaces []string) error {
	mutating, validating := &admissionv1.MutatingWebhookConfigurationList{}, &admissionv1.ValidatingWebhookConfigurationList{}
	crds, deployments := &apiextensionsv1.CustomResourceDefinitionList{}, &appsv1.DeploymentList{}
	certificates := &unstructured.UnstructuredList{}
	certificates.SetGroupVersionKind(certManager.WithKind("CertificateList"))
	for _, list := range []client.ObjectList{mutating, validating, crds, deployments, certificates} {
		if err := c.List(ctx, list); err != nil {
			return err
		}
	}
	called := func(w admissionv1.WebhookClientConfig) bool {
		return w.Service != nil && slices.Contains(namespaces, w.Service.Namespace)
	}
	for i := range mutating.Items {
		o := &mutating.Items[i]
		if slices.ContainsFunc(o.Webhooks, func(w admissionv1.MutatingWebhook) bool { return called(w.ClientConfig) }) {
			m.Mutating = append(m.Mutating, o)
		}
	}
	for i := range validating.Items {
		o := &validating.Items[i]
		if slices.ContainsFunc(o.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return called(w.ClientConfig) }) {
			m.Validating = append(m.Validating, o)
		}
	}
	for i := range crds.Items {
		at := crds.Items[i].Spec.Conversion
		if at == nil || at.Webhook == nil || at.Webhook.ClientConfig == nil || at.Webhook.ClientConfig.Service == nil {
			continue
		}
		if slices.Contains(namespaces, at.Webhook.ClientConfig.Service.Namespace) {
			m.CRDs = append(m.CRDs, &crds.Items[i])
		}
	}
	for i := range certificates.Items {
		o := &certificates.Items[i]
		if !slices.Contains(namespaces, o.GetNamespace()) {
			continue
		}
		if err := m.add(o); err != nil {
			return fmt.Errorf("certificate %s: %w", o.GetName(), err)
		}
	}
	for i := range deployments.Items {
		if slices.Contains(namespaces, deployments.Items[i].Namespace) {
			m.Deployments = append(m.Deployments, &deployments.Items[i])
		}
	}
	return nil
}
