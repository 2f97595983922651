package manager

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/cluster-api/util/flags"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

// Names of variables of the environment (provider-ops.md 1.2).
const (
	// EnvManagerImage is the manager's own image, which is the default of --runner-image.
	EnvManagerImage = "CAPTF_MANAGER_IMAGE"
	// EnvPodNamespace and EnvServiceAccount say who the manager is to admission.
	EnvPodNamespace   = "POD_NAMESPACE"
	EnvServiceAccount = "SERVICE_ACCOUNT_NAME"
)

// Options are how a manager is run, checked.
type Options struct {
	// ClusterOperationGate keeps writes of a cluster and of its machines apart (B-217).
	ClusterOperationGate bool
	// MaxActiveJobs and ClusterMaxActiveJobs limit the Jobs that run, over all and for a cluster; 0 is no limit (B-228).
	MaxActiveJobs, ClusterMaxActiveJobs int
	// DriftDefaultInterval is used where no object says another one.
	DriftDefaultInterval time.Duration
	// RunnerEvents makes runs send events.
	RunnerEvents bool
	// RunnerImage has /runner.
	RunnerImage string
	// StateBackups is how many backups of a state are kept; 0 makes no new ones and keeps what there is (B-452).
	StateBackups int
	// ImageInspect is the policy about registries that the manager itself reads.
	ImageInspect inspect.Egress

	// Namespace that is watched; empty is all.
	Namespace string
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that objects must have; empty is all objects.
	WatchFilter string
	// SyncPeriod is between two looks at everything, and between two sweeps.
	SyncPeriod time.Duration
	// Concurrency is how many objects of a kind are reconciled at a time.
	Concurrency Concurrency

	LeaderElection LeaderElection
	Webhook        Webhook
	// Diagnostics serves metrics, and unless it is insecure profiles and the level of logging.
	Diagnostics metricsserver.Options
	// TLS changes the configuration of every server.
	TLS []func(*tls.Config)
	// HealthAddress serves the probes, ProfilerAddress profiles; empty is not at all.
	HealthAddress, ProfilerAddress string

	// PodNamespace and ServiceAccount are who the manager is; empty if that is not known.
	PodNamespace, ServiceAccount string
}

// Concurrency is how many objects of a kind are reconciled at a time.
type Concurrency struct {
	Cluster, Machine, MachinePool, MachineTemplate int
}

// LeaderElection is how one of several managers is chosen (B-905).
type LeaderElection struct {
	Enabled                                   bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// Webhook is the server of webhooks.
type Webhook struct {
	// Host is the address to bind to; empty is all.
	Host string
	Port int
	// CertDir has the certificate and its key.
	CertDir, CertName, KeyName string
}

// flagValues are what flags are parsed into.
type flagValues struct {
	Options
	capi       flags.ManagerOptions
	kubeconfig string
	registries []string
	networks   []string
}

// add adds the flags. Names, types and defaults are those of provider-ops.md 1.1; env is the environment.
func (v *flagValues) add(fs *pflag.FlagSet, env func(string) string) {
	o := &v.Options
	fs.BoolVar(&o.ClusterOperationGate, "cluster-operation-gate", true,
		"keep an apply, destroy or restore of a cluster apart from those of its machines and pools")
	fs.IntVar(&o.MaxActiveJobs, "max-active-jobs", 200, "Jobs that may run at a time; 0 is no limit")
	fs.IntVar(&o.ClusterMaxActiveJobs, "cluster-max-active-jobs", 20,
		"Jobs that may run at a time for one TerraformCluster with its machines and pools, unless its spec.maxActiveJobs says another limit; 0 is no limit")
	fs.DurationVar(&o.DriftDefaultInterval, "drift-default-interval", 30*time.Minute,
		"interval of drift checks where no object says another one, and of a pool that says 0")
	fs.BoolVar(&o.RunnerEvents, "runner-events", true, "let runs send events about their steps")
	fs.StringVar(&o.RunnerImage, "runner-image", env(EnvManagerImage),
		"image with /runner, for the init containers of Jobs (default $"+EnvManagerImage+")")
	fs.IntVar(&o.StateBackups, "state-backups", 5, "backups of the state that are kept for each object; 0 makes no new ones and keeps what there is")
	fs.StringSliceVar(&v.registries, "image-inspect-allowed-registries", nil,
		"registries that may be asked about images, as host or host:port, * for one label of the name; without it all are")
	fs.StringSliceVar(&v.networks, "image-inspect-allowed-networks", nil,
		"networks, such as 10.0.0.0/8, whose addresses may be connected to for it although they are not public")
	fs.StringVar(&o.Namespace, "namespace", "", "the one namespace that is watched; without it all are. Identities are watched anyway")
	fs.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Minute, "interval at which everything is looked at again, and what is left over is removed")
	for _, c := range []struct {
		kind string
		n    *int
	}{
		{"TerraformCluster", &o.Concurrency.Cluster},
		{"TerraformMachine", &o.Concurrency.Machine},
		{"TerraformMachinePool", &o.Concurrency.MachinePool},
		{"TerraformMachineTemplate", &o.Concurrency.MachineTemplate},
	} {
		fs.IntVar(c.n, strings.ToLower(c.kind)+"-concurrency", 10, c.kind+"s that are reconciled at a time")
	}
	fs.StringVar(&o.WatchFilter, "watch-filter", "", "value of the label cluster.x-k8s.io/watch-filter of the objects that are reconciled; without it all are")
	fs.BoolVar(&o.LeaderElection.Enabled, "leader-elect", false, "let only one of several managers reconcile")
	fs.DurationVar(&o.LeaderElection.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "time after which a leader that was not heard of is replaced")
	fs.DurationVar(&o.LeaderElection.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "time after which a leader that cannot tell that it lives gives up")
	fs.DurationVar(&o.LeaderElection.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between two tries to lead, or to tell that the leader lives")
	fs.StringVar(&o.Webhook.Host, "webhook-host", "", "address that the webhooks are served on; without it all are")
	fs.IntVar(&o.Webhook.Port, "webhook-port", 9443, "port that the webhooks are served on")
	fs.StringVar(&o.Webhook.CertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "directory with the certificate of the webhooks and its key")
	fs.StringVar(&o.Webhook.CertName, "webhook-cert-name", "tls.crt", "file with the certificate")
	fs.StringVar(&o.Webhook.KeyName, "webhook-key-name", "tls.key", "file with the key")
	fs.StringVar(&o.HealthAddress, "health-addr", ":9440", "address that /healthz and /readyz are served on")
	fs.StringVar(&o.ProfilerAddress, "profiler-address", "", "address that profiles are served on by plain HTTP without authentication, for example localhost:6060; without it they are not")
	fs.StringVar(&v.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default $KUBECONFIG, else that of the pod)")

	flags.AddManagerOptions(fs, &v.capi)
	for name, usage := range map[string]string{
		"diagnostics-address":  "address that /metrics is served on by HTTPS with authentication, and /debug/pprof and /debug/flags/v",
		"insecure-diagnostics": "serve /metrics by plain HTTP without authentication, and none of the rest",
		"tls-min-version":      "lowest version of TLS that webhooks and diagnostics accept: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13",
		"tls-cipher-suites":    "cipher suites that webhooks and diagnostics accept, by their names in Go's crypto/tls; without it Go chooses",
		"tls-curve-preferences": "key exchanges that webhooks and diagnostics accept, by their numbers in Go's crypto/tls (CurveID); " +
			"without it Go chooses. The order does not matter",
	} {
		fs.Lookup(name).Usage = usage
	}
}

// options checks what was parsed, and returns every problem there is, each naming its flag.
func (v *flagValues) options(env func(string) string) (Options, error) {
	o := v.Options
	o.PodNamespace, o.ServiceAccount = env(EnvPodNamespace), env(EnvServiceAccount)
	var problems []error
	problem := func(flag, format string, args ...any) {
		problems = append(problems, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
	for _, c := range []struct {
		flag     string
		n, least int
	}{
		{"terraformcluster-concurrency", o.Concurrency.Cluster, 1},
		{"terraformmachine-concurrency", o.Concurrency.Machine, 1},
		{"terraformmachinepool-concurrency", o.Concurrency.MachinePool, 1},
		{"terraformmachinetemplate-concurrency", o.Concurrency.MachineTemplate, 1},
		{"state-backups", o.StateBackups, 0},
		{"max-active-jobs", o.MaxActiveJobs, 0},
		{"cluster-max-active-jobs", o.ClusterMaxActiveJobs, 0},
	} {
		if c.n < c.least {
			problem(c.flag, "%d is too small: it is at least %d", c.n, c.least)
		}
	}
	for _, d := range []struct {
		flag string
		d    time.Duration
	}{
		{"sync-period", o.SyncPeriod},
		{"drift-default-interval", o.DriftDefaultInterval},
	} {
		if d.d <= 0 {
			problem(d.flag, "%s is not longer than 0", d.d)
		}
	}
	if l := o.LeaderElection; l.Enabled && (l.RetryPeriod <= 0 || l.RenewDeadline <= l.RetryPeriod*6/5 || l.LeaseDuration <= l.RenewDeadline) {
		problem("leader-elect-lease-duration", "%s must be longer than --leader-elect-renew-deadline, %s, and that longer than 1.2 times --leader-elect-retry-period, %s",
			l.LeaseDuration, l.RenewDeadline, l.RetryPeriod)
	}
	if o.RunnerImage == "" {
		problem("runner-image", "there is no image with the runner: give the manager's own, by this flag or in %s", EnvManagerImage)
	} else if _, err := name.ParseReference(o.RunnerImage); err != nil {
		problem("runner-image", "%q is no reference to an image: %v", o.RunnerImage, err)
	}
	if p := o.Webhook.Port; p < 1 || p > 65535 {
		problem("webhook-port", "%d is no port: it is from 1 to 65535", p)
	}
	if o.Namespace != "" {
		for _, p := range validation.IsDNS1123Label(o.Namespace) {
			problem("namespace", "%q is no name of a namespace: %s", o.Namespace, p)
		}
	}
	for _, p := range validation.IsValidLabelValue(o.WatchFilter) {
		problem("watch-filter", "%q is no value of a label: %s", o.WatchFilter, p)
	}
	egress, err := inspect.ParseEgress(v.registries, nil)
	if err != nil {
		problem("image-inspect-allowed-registries", "%v", err)
	}
	networks, err := inspect.ParseEgress(nil, v.networks)
	if err != nil {
		problem("image-inspect-allowed-networks", "%v", err)
	}
	egress.Networks = networks.Networks
	o.ImageInspect = egress

	tlsOptions, diagnostics, err := flags.GetManagerOptions(v.capi)
	if err != nil {
		problems = append(problems, fmt.Errorf("--tls-*: %w", err))
	} else {
		o.TLS, o.Diagnostics = tlsOptions, *diagnostics
	}
	return o, errors.Join(problems...)
}
