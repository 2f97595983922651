package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/diagnose/kube"
)

// diagnoseFlags are the flags of captf diagnose.
type diagnoseFlags struct {
	namespace  string
	kubeconfig string
	context    string
	output     string
	timeout    time.Duration
}

func newDiagnoseCommand() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose [flags] CLUSTER",
		Short: "Say why a Cluster API cluster is stuck, and what to do",
		Long: `Say why a Cluster API cluster is stuck, and what to do.

The Cluster is followed to its infrastructure, control plane, machines, bootstrap
configs and Nodes, and, where modules are its infrastructure, to the Job that runs, its
pod and the step that failed. Shown are the gate at which it stands, the object and
field that are responsible, since when, and the next thing to do; the root cause
comes first, and what only waits for it is listed under it.

It works on clusters of any provider. It only reads: the management cluster, never a
Secret, never the workload cluster.

Exit codes: ` + strconv.Itoa(exitOK) + ` the cluster is healthy; ` + strconv.Itoa(exitFailed) + ` it is stuck, or not there yet (the verdict says
which); ` + strconv.Itoa(exitError) + ` it could not be looked at: no such Cluster, no connection, no rights;
` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # Why is my cluster stuck?
  captf diagnose prod -n shop

  # The same with everything that the cluster consists of
  captf diagnose prod -n shop --output tree

  # For programs
  captf diagnose prod -n shop --output json | jq -r .verdict`,
		Args: exactly(1, "the name of one Cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output, "text", "tree", "json"); err != nil {
				return err
			}
			name := args[0]
			if name == "" || strings.Contains(name, "/") {
				return usage(fmt.Errorf("parsing the name %q: it is that of a Cluster; its namespace is given by --namespace", name))
			}
			return f.run(cmd, name)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the Cluster (default that of the kubeconfig's context)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default what kubectl takes)")
	flags.StringVar(&f.context, "kubeconfig-context", "", "context of the kubeconfig (default its current one)")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text, tree or json")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long reading may take; 0 is no limit")
	complete(cmd, "output", "text", "tree", "json")
	if err := cmd.MarkFlagFilename("kubeconfig"); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

func (f *diagnoseFlags) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done within the %s of --timeout", f.timeout))
		defer cancel()
	}
	config, namespace, err := kube.Config(kube.Options{Kubeconfig: f.kubeconfig, Context: f.context, UserAgent: "captf/" + currentVersion().Version, Timeout: f.timeout})
	if err != nil {
		return err
	}
	if f.namespace != "" {
		namespace = f.namespace
	}
	reader, err := kube.New(config)
	if err != nil {
		return err
	}
	objects, err := diagnose.Read(ctx, reader, namespace, name)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return err
	}
	d := diagnose.New(objects, diagnose.Options{
		Now:        time.Now(),
		Kubectl:    "kubectl" + f.selects("--context"),
		Clusterctl: "clusterctl" + f.selects("--kubeconfig-context"),
	})
	if err := f.write(cmd.OutOrStdout(), d); err != nil {
		return fmt.Errorf("writing the diagnosis: %w", err)
	}
	if d.Verdict != diagnose.VerdictHealthy {
		return exit(exitFailed)
	}
	return nil
}

// selects repeats the flags that choose the cluster, for the commands that are shown: they must meet the same one.
func (f *diagnoseFlags) selects(contextFlag string) string {
	out := ""
	if f.kubeconfig != "" {
		out += " --kubeconfig " + shellWord(f.kubeconfig)
	}
	if f.context != "" {
		out += " " + contextFlag + " " + shellWord(f.context)
	}
	return out
}

// shellWord quotes a word for a shell, if it has to be.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (f *diagnoseFlags) write(w io.Writer, d *diagnose.Diagnosis) error {
	o := diagnose.TextOptions{Colors: colourful(w)}
	switch f.output {
	case "json":
		return d.JSON(w)
	case "tree":
		return d.Tree(w, o)
	default:
		return d.Text(w, o)
	}
}
