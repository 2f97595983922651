package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
users: [{name: test, user: {token: abc}}]
`

// execute runs the command. What it would run the manager with is returned; nil if it did not get there.
func execute(t *testing.T, args ...string) (out string, config *rest.Config, options *Options, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	t.Cleanup(func() {
		if err := logsapi.ResetForTest(nil); err != nil {
			t.Errorf("resetting logging: %v", err)
		}
	})
	cmd := NewCommand(func(_ context.Context, c *rest.Config, o Options) error {
		config, options = c, &o
		return nil
	})
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), config, options, err
}

func TestDefaults(t *testing.T) {
	t.Setenv(EnvManagerImage, "registry.example/captf:v1")
	t.Setenv(EnvPodNamespace, "captf-system")
	t.Setenv(EnvServiceAccount, "captf-controller-manager")
	_, config, options, err := execute(t)
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{
		ClusterOperationGate: true,
		MaxActiveJobs:        200, ClusterMaxActiveJobs: 20,
		DriftDefaultInterval: 30 * time.Minute,
		RunnerEvents:         true,
		RunnerImage:          "registry.example/captf:v1",
		StateBackups:         5,
		SyncPeriod:           10 * time.Minute,
		Concurrency:          Concurrency{Cluster: 10, Machine: 10, MachinePool: 10, MachineTemplate: 10},
		LeaderElection:       LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
		Webhook:              Webhook{Port: 9443, CertDir: "/tmp/k8s-webhook-server/serving-certs/", CertName: "tls.crt", KeyName: "tls.key"},
		Diagnostics:          metricsserver.Options{BindAddress: ":8443", SecureServing: true},
		HealthAddress:        ":9440",
		PodNamespace:         "captf-system", ServiceAccount: "captf-controller-manager",
	}
	ignore := cmp.Options{
		cmpopts.IgnoreFields(Options{}, "TLS"), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(inspect.Egress{}, "Proxy"),
		cmpopts.IgnoreFields(metricsserver.Options{}, "ExtraHandlers", "FilterProvider", "TLSOpts", "ListenConfig"),
	}
	if diff := cmp.Diff(want, options, ignore); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	var c tls.Config
	for _, change := range options.TLS {
		change(&c)
	}
	if c.MinVersion != tls.VersionTLS12 {
		t.Errorf("TLS from version %x", c.MinVersion)
	}
	if options.Diagnostics.FilterProvider == nil {
		t.Error("diagnostics are served to everyone")
	}
	if config.QPS >= 0 || !strings.HasPrefix(config.UserAgent, "captf-manager/") || config.Host != "https://127.0.0.1:1" {
		t.Errorf("config: %s, QPS %v, %s", config.Host, config.QPS, config.UserAgent)
	}
}

func TestFlags(t *testing.T) {
	_, _, options, err := execute(t, "--runner_image=registry.example/r@sha256:"+strings.Repeat("a", 64), "--state_backups", "0",
		"--image-inspect-allowed-registries=a.example,*.b.example", "--image-inspect-allowed-networks=10.1.2.3/8",
		"--insecure-diagnostics", "--namespace=team-a", "--max-active-jobs=0", "--logging-format=json", "-v=4", "--leader-elect")
	if err != nil {
		t.Fatal(err)
	}
	if options.StateBackups != 0 || options.MaxActiveJobs != 0 || options.Namespace != "team-a" || !options.LeaderElection.Enabled {
		t.Errorf("options: %+v", options)
	}
	if len(options.ImageInspect.Registries) != 2 || options.ImageInspect.Networks[0].String() != "10.0.0.0/8" {
		t.Errorf("policy: %+v", options.ImageInspect)
	}
	if d := options.Diagnostics; d.SecureServing || d.FilterProvider != nil || d.ExtraHandlers != nil {
		t.Errorf("insecure diagnostics: %+v", d)
	}
}

func TestRefused(t *testing.T) {
	const image = "--runner-image=registry.example/r:v1"
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no image":            {nil, []string{"--runner-image", "there is no image with the runner", "CAPTF_MANAGER_IMAGE"}},
		"no reference":        {[]string{"--runner-image=UPPER:x y"}, []string{"--runner-image", "no reference"}},
		"concurrency":         {[]string{image, "--terraformmachine-concurrency=0"}, []string{"--terraformmachine-concurrency: 0 is too small", "at least 1"}},
		"template":            {[]string{image, "--terraformmachinetemplate-concurrency=-1"}, []string{"--terraformmachinetemplate-concurrency"}},
		"pool":                {[]string{image, "--terraformmachinepool-concurrency=0"}, []string{"--terraformmachinepool-concurrency"}},
		"cluster":             {[]string{image, "--terraformcluster-concurrency=0"}, []string{"--terraformcluster-concurrency"}},
		"sync period":         {[]string{image, "--sync-period=0"}, []string{"--sync-period: 0s is not longer than 0"}},
		"drift":               {[]string{image, "--drift-default-interval=-1m"}, []string{"--drift-default-interval"}},
		"backups":             {[]string{image, "--state-backups=-1"}, []string{"--state-backups: -1 is too small: it is at least 0"}},
		"jobs":                {[]string{image, "--max-active-jobs=-1"}, []string{"--max-active-jobs"}},
		"jobs of a cluster":   {[]string{image, "--cluster-max-active-jobs=-1"}, []string{"--cluster-max-active-jobs"}},
		"several at once":     {[]string{"--state-backups=-1", "--sync-period=0"}, []string{"--state-backups", "--sync-period", "--runner-image"}},
		"leader election":     {[]string{image, "--leader-elect", "--leader-elect-lease-duration=5s"}, []string{"--leader-elect-lease-duration", "5s must be longer"}},
		"port":                {[]string{image, "--webhook-port=70000"}, []string{"--webhook-port: 70000 is no port"}},
		"namespace":           {[]string{image, "--namespace=a,b"}, []string{"--namespace", "no name of a namespace"}},
		"watch filter":        {[]string{image, "--watch-filter=a b"}, []string{"--watch-filter", "no value of a label"}},
		"registry":            {[]string{image, "--image-inspect-allowed-registries=https://x/"}, []string{"--image-inspect-allowed-registries"}},
		"network":             {[]string{image, "--image-inspect-allowed-networks=10.0.0.0"}, []string{"--image-inspect-allowed-networks"}},
		"version of TLS":      {[]string{image, "--tls-min-version=VersionSSL3"}, []string{"--tls-", "VersionSSL3"}},
		"cipher suite":        {[]string{image, "--tls-cipher-suites=ROT13"}, []string{"ROT13"}},
		"logging":             {[]string{image, "--logging-format=xml"}, []string{"logging", "xml"}},
		"kubeconfig":          {[]string{image, "--kubeconfig=/nowhere/at/all"}, []string{"finding the API server", "/nowhere/at/all"}},
		"unknown flag":        {[]string{image, "--no-such-flag"}, []string{"no-such-flag"}},
		"argument":            {[]string{image, "serve"}, []string{"serve"}},
		"version of nonsense": {[]string{"--version=maybe"}, []string{"maybe", "v1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, options, err := execute(t, test.args...)
			if err == nil {
				t.Fatalf("no error; options %+v", options)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if options != nil {
				t.Error("the manager was run nevertheless")
			}
		})
	}
}

func TestNotInCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := loadConfig("", func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "--kubeconfig or KUBECONFIG") {
		t.Errorf("error %v", err)
	}
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"--version=true"}} {
		out, _, options, err := execute(t, args...)
		if err != nil || options != nil || !strings.HasPrefix(out, "captf-manager ") {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
	out, _, _, err := execute(t, "--version=v9.8.7")
	if err != nil || out != "captf-manager v9.8.7\n" {
		t.Errorf("%q, %v", out, err)
	}
	out, _, _, err = execute(t, "--version=raw")
	var raw map[string]string
	if err != nil || json.Unmarshal([]byte(out), &raw) != nil || raw["version"] == "" || raw["go"] == "" {
		t.Errorf("%q, %v", out, err)
	}
}
