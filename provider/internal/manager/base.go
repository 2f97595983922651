package manager

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// LeaderElectionID is the name of the Lease that managers elect a leader with (B-905).
const LeaderElectionID = "controller-leader-election-captf"

// stopTimeout is what controllers get to end what they are at (B-905).
const stopTimeout = 20 * time.Second

// managerOptions are what a manager is made with, apart from what its caches hold.
func (o Options) managerOptions(scheme *runtime.Scheme) ctrl.Options {
	stop := stopTimeout
	return ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       o.Diagnostics,
		HealthProbeBindAddress:        o.HealthAddress,
		PprofBindAddress:              o.ProfilerAddress,
		GracefulShutdownTimeout:       &stop,
		LeaderElection:                o.LeaderElection.Enabled,
		LeaderElectionID:              LeaderElectionID,
		LeaderElectionNamespace:       o.PodNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaderElection.LeaseDuration,
		RenewDeadline:                 &o.LeaderElection.RenewDeadline,
		RetryPeriod:                   &o.LeaderElection.RetryPeriod,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:     o.Webhook.Host,
			Port:     o.Webhook.Port,
			CertDir:  o.Webhook.CertDir,
			CertName: o.Webhook.CertName,
			KeyName:  o.Webhook.KeyName,
			TLSOpts:  o.TLS,
		}),
	}
}

// addProbes adds /healthz and /readyz. Both ask whether the webhooks are served: a manager that does not serve them keeps
// everybody from changing objects, so it gets no requests, and if that lasts it is started again.
func addProbes(mgr ctrl.Manager) error {
	served := mgr.GetWebhookServer().StartedChecker()
	if err := mgr.AddReadyzCheck("webhooks", served); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	if err := mgr.AddHealthzCheck("webhooks", served); err != nil {
		return fmt.Errorf("adding the health probe: %w", err)
	}
	return nil
}
