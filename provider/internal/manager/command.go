package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the format json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/version"
)

// RunFunc runs a manager until the context ends.
type RunFunc func(ctx context.Context, config *rest.Config, o Options) error

// NewCommand returns the manager's command. It has flags only, no configuration file. Before it runs the manager it checks
// everything it was given, and says all that is wrong at once.
func NewCommand(run RunFunc) *cobra.Command {
	values := &flagValues{}
	logging := logs.NewOptions()
	logging.Verbosity = 2
	gates := featuregate.NewFeatureGate()
	shown := versionFlag("false")

	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers and webhooks of the CAPTF infrastructure provider",
		Long: `Run the controllers and webhooks of the CAPTF infrastructure provider.

The API server is that of --kubeconfig, else of $KUBECONFIG, else of the pod. Names of
flags may be written with underscores instead of dashes.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if done, err := shown.print(cmd); done || err != nil {
				return err
			}
			options, err := values.options(os.Getenv)
			if err != nil {
				return fmt.Errorf("checking the flags:\n%w", err)
			}
			if err := logsapi.ValidateAndApply(logging, gates); err != nil {
				return fmt.Errorf("setting up logging: %w", err)
			}
			defer logs.FlushLogs()
			logger := klog.Background()
			ctrl.SetLogger(logger)
			introduce(logger, cmd.Flags(), options)
			gates.AddMetrics()
			build := version.Get()
			metrics.BuildInfo(build.Version, build.Commit)

			config, err := loadConfig(values.kubeconfig, os.Getenv)
			if err != nil {
				return err
			}
			return run(cmd.Context(), config, options)
		},
	}
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	fs := cmd.Flags()
	fs.SortFlags = false
	values.add(fs, os.Getenv)
	logsapi.AddFlags(logging, fs)
	if err := logsapi.AddFeatureGates(gates); err != nil {
		panic(err) // the same gates twice
	}
	gates.AddFlag(fs)
	fs.Var(&shown, "version", "print the version and exit; raw prints all that is known about the build, a version such as v1.2.3 is printed instead")
	fs.Lookup("version").NoOptDefVal = "true"

	cmd.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versionFlag("true")
			_, err := v.print(cmd)
			return err
		},
	})
	return cmd
}

// introduce logs what the manager was told, and what it should have been told.
func introduce(logger klog.Logger, fs *pflag.FlagSet, o Options) {
	build := version.Get()
	logger.Info("starting", "version", build.Version, "commit", build.Commit, "go", build.Go, "platform", build.Platform)
	fs.VisitAll(func(f *pflag.Flag) {
		logger.Info("flag", "name", f.Name, "value", f.Value.String())
	})
	for _, missing := range []struct{ name, value string }{
		{EnvPodNamespace, o.PodNamespace}, {EnvServiceAccount, o.ServiceAccount},
	} {
		if missing.value == "" {
			logger.Info("WARNING: a variable of the environment is not set: admission cannot tell the manager from users, so it "+
				"refuses the manager's writes of provider ids, and machines are never finished", "variable", missing.name)
		}
	}
}

// loadConfig tells how to reach the API server. Its clients are not slowed down: the API server keeps order by itself.
func loadConfig(path string, env func(string) string) (*rest.Config, error) {
	if path == "" {
		path = env(clientcmd.RecommendedConfigPathEnvVar)
	}
	var (
		config *rest.Config
		err    error
	)
	if path == "" {
		config, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			err = errors.New("the manager does not run in a pod: give --kubeconfig or KUBECONFIG")
		}
	} else {
		rules := &clientcmd.ClientConfigLoadingRules{Precedence: strings.Split(path, string(os.PathListSeparator))}
		for _, file := range rules.Precedence {
			if _, statErr := os.Stat(file); statErr != nil {
				return nil, fmt.Errorf("finding the API server: %w", statErr)
			}
		}
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	config.QPS = -1
	config.UserAgent = version.UserAgent("captf-manager")
	return config, nil
}

// versionFlag is --version: false, true, raw, or a version to print instead.
type versionFlag string

func (v *versionFlag) String() string { return string(*v) }

func (v *versionFlag) Type() string { return "version" }

func (v *versionFlag) Set(s string) error {
	switch {
	case s == "true", s == "false", s == "raw", strings.HasPrefix(s, "v"):
		*v = versionFlag(s)
		return nil
	default:
		return fmt.Errorf("%q is none of true, false, raw, or a version such as v1.2.3", s)
	}
}

// print prints the version if it was asked for.
func (v *versionFlag) print(cmd *cobra.Command) (bool, error) {
	build := version.Get()
	var err error
	switch *v {
	case "false":
		return false, nil
	case "raw":
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		err = encoder.Encode(build)
	case "true":
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "captf-manager", build.Version)
	default:
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "captf-manager", string(*v))
	}
	return true, err
}
