package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/captf-toolkit/captf/provider/internal/state"
)

// Environment that the pod gives by the downward API.
const (
	EnvPodName = "POD_NAME"
	EnvPodUID  = "POD_UID"
)

const (
	requestTimeout = 30 * time.Second
	qps            = 50
	burst          = 100
)

type flags struct {
	session    string
	account    string
	kubeconfig string
	namespace  string
	suffix     string
	labels     []string
	job        string
	apply      bool
	pausedBy   []string
	runSecret  string
	planKey    string
	backups    int
	object     string
}

// NewCommand returns the command `broker`, the sidecar of a Job's pod.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Serve a run its state, as the sidecar of its pod",
		Long: "Serve the state of one object on loopback, in the form of the runtimes' http backend, to the container that runs the\n" +
			"module, which has no Kubernetes token itself. " + EnvPodName + " and " + EnvPodUID + " must be set.\n" +
			"It ends on SIGTERM, once requests in flight are answered.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			limitMemory(cgroupLimit)
			return f.run(ctx, log)
		},
	}
	s := cmd.Flags()
	s.StringVar(&f.session, "session", "/captf/broker", "directory for "+SessionFile+", which tells the runner the port and the password")
	s.StringVar(&f.account, "service-account-dir", "/var/run/secrets/kubernetes.io/serviceaccount", "directory with token and ca.crt")
	s.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig to use instead of the service account, outside a cluster")
	s.StringVar(&f.namespace, "namespace", "", "namespace of the object")
	s.StringVar(&f.suffix, "state-suffix", "", "suffix of the state's Secrets")
	s.StringArrayVar(&f.labels, "label", nil, "label KEY=VALUE of the state's Secrets; may be repeated")
	s.StringVar(&f.job, "job", "", "name of the Job")
	s.BoolVar(&f.apply, "apply", false, "the run is an apply: backups of what it writes name no inputs before it has succeeded")
	s.StringArrayVar(&f.pausedBy, "paused-by", nil, "KIND/NAME of an object that keeps the run from beginning while it is paused; may be repeated")
	s.StringVar(&f.runSecret, "run-secret", "", "name of the run's Secret, which the result is kept in")
	s.StringVar(&f.planKey, "plan-key-secret", "", "name of the Secret with the plan key; none for runs that judge no plan")
	s.IntVar(&f.backups, "backups", 5, "backups of the state to keep; 0 takes none")
	s.StringVar(&f.object, "event-object", "", "object that events are about, as apiVersion/kind/namespace/name/uid; none emits no events")
	for _, name := range []string{"namespace", "state-suffix", "job", "run-secret"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a name that is not one of the flags above
		}
	}
	return cmd
}

// cgroupLimit is where a container finds its memory limit.
const cgroupLimit = "/sys/fs/cgroup/memory.max"

// limitMemory has the collector work harder before the container's limit is reached: a large state or plan is in memory
// more than once. GOMEMLIMIT, if set, wins; without a limit nothing changes.
func limitMemory(file string) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return
	}
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

func (f *flags) run(ctx context.Context, log *slog.Logger) error {
	c, err := f.config(log)
	if err != nil {
		return err
	}
	listener, session, err := listen(ctx, f.session, c.Clock)
	if err != nil {
		return err
	}
	log.Info("serving", "address", session.Address, "state", c.Key.Namespace+"/"+c.Key.Secret(0), "job", c.Run.Job)
	return New(*c).Serve(ctx, listener, session)
}

// config turns the flags into what is served.
func (f *flags) config(log *slog.Logger) (*Config, error) {
	c := &Config{
		Key:       state.Key{Namespace: f.namespace, Suffix: f.suffix, Labels: map[string]string{}},
		Run:       state.Holder{Job: f.job, Pod: os.Getenv(EnvPodName), PodUID: types.UID(os.Getenv(EnvPodUID))},
		RunSecret: f.runSecret, PlanKeySecret: f.planKey, Backups: f.backups, Apply: f.apply, Clock: clock.RealClock{}, Log: log,
	}
	if c.Run.Pod == "" || c.Run.PodUID == "" {
		return nil, fmt.Errorf("reading the environment: %s and %s must be set: a lock names the pod that holds it", EnvPodName, EnvPodUID)
	}
	for _, l := range f.labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("reading --label %q: it is not of the form KEY=VALUE", l)
		}
		c.Key.Labels[key] = value
	}
	for _, text := range f.pausedBy {
		by, err := ParsePausable(text)
		if err != nil {
			return nil, fmt.Errorf("reading --paused-by: %w", err)
		}
		c.PausedBy = append(c.PausedBy, by)
	}
	if f.backups < 0 {
		return nil, fmt.Errorf("reading --backups %d: it is negative", f.backups)
	}
	var err error
	if f.object != "" {
		if c.Object, err = ParseObject(f.object); err != nil {
			return nil, fmt.Errorf("reading --event-object: %w", err)
		}
	}
	config, err := f.rest()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout, config.UserAgent = qps, burst, requestTimeout, "captf-broker"
	if c.Client, err = state.NewClient(config, slices.Collect(maps.Values(pausables))...); err != nil {
		return nil, err
	}
	c.Store = &state.Store{Writer: c.Client, Live: c.Client, Clock: c.Clock}
	return c, nil
}

// rest returns how to reach the API server. The token is read anew as it is rotated.
func (f *flags) rest() (*rest.Config, error) {
	if f.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("reading --kubeconfig: %w", err)
		}
		return config, nil
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("finding the API server: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod; use --kubeconfig")
	}
	token := filepath.Join(f.account, "token")
	if _, err := os.Stat(token); err != nil {
		return nil, fmt.Errorf("reading the service account: %w", err)
	}
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(host, port), BearerTokenFile: token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(f.account, "ca.crt")},
	}, nil
}
