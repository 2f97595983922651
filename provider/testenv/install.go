package testenv

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// CRDs are CustomResourceDefinitions to install.
type CRDs struct {
	// Paths are files, or directories of files; what else is in them is passed over.
	Paths []string
	// Objects are added to those of the files.
	Objects []*apiextensionsv1.CustomResourceDefinition
	// Edit may change each before it is sent, for instance to add labels; nil changes nothing.
	Edit func(*apiextensionsv1.CustomResourceDefinition)
}

// InstallCRDs makes or updates CustomResourceDefinitions and returns when the API server serves them.
func (e *Environment) InstallCRDs(ctx context.Context, c CRDs) error {
	o := envtest.CRDInstallOptions{Paths: c.Paths, CRDs: c.Objects, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&o); err != nil {
		return fmt.Errorf("reading CRDs: %w", err)
	}
	if len(o.CRDs) == 0 {
		return fmt.Errorf("installing CRDs: there are none in %v", c.Paths)
	}
	if c.Edit != nil {
		for _, d := range o.CRDs {
			c.Edit(d)
		}
	}
	o.Paths = nil // they were read
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(e.env.Config, o); err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	return nil
}

// Webhooks are webhook configurations to install, as they are written for a cluster: their services are replaced by an
// address on this machine.
type Webhooks struct {
	// Paths are files, or directories of files.
	Paths []string
	// Mutating and Validating are added to those of the files.
	Mutating   []*admissionv1.MutatingWebhookConfiguration
	Validating []*admissionv1.ValidatingWebhookConfiguration
}

// Serving is where a webhook server has to listen, and its certificate.
type Serving struct {
	Host string
	Port int
	// CertDir holds tls.crt and tls.key.
	CertDir string
	// CA is the authority of the certificate, in PEM.
	CA []byte
}

// InstallWebhooks makes webhook configurations that call an address on this machine, with the authority of a new
// certificate. What they are about fails from then on until a server listens there.
func (e *Environment) InstallWebhooks(ctx context.Context, w Webhooks) (Serving, error) {
	o := &envtest.WebhookInstallOptions{Paths: w.Paths, MutatingWebhooks: w.Mutating, ValidatingWebhooks: w.Validating}
	if err := ctx.Err(); err != nil {
		return Serving{}, err
	}
	e.mu.Lock()
	e.webhooks = append(e.webhooks, o) // its files are removed by Stop
	e.mu.Unlock()
	if err := o.Install(e.env.Config); err != nil {
		return Serving{}, fmt.Errorf("installing webhooks: %w", err)
	}
	if len(o.MutatingWebhooks)+len(o.ValidatingWebhooks) == 0 {
		return Serving{}, errors.New("installing webhooks: there are none in the files")
	}
	return Serving{Host: o.LocalServingHost, Port: o.LocalServingPort, CertDir: o.LocalServingCertDir, CA: o.LocalServingCAData}, nil
}
