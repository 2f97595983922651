package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Exit codes (B-612).
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// usageError is a mistake in the arguments.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// Main runs the command with its arguments and returns its exit code. More are commands to hang in beside its own.
func Main(args []string, stdout, stderr io.Writer, version string, more ...*cobra.Command) int {
	ctx, stop := notify()
	defer stop()
	root := newCommand(version, more)
	root.SetArgs(append([]string{}, args...)) // none must not become those of the process
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "runner: %v\n", err)
		return ExitUsage
	case errors.As(err, new(*failure)):
		return ExitFailed // it is in the log already
	}
	fmt.Fprintf(stderr, "runner: %v\n", err)
	return ExitFailed
}

// notify returns a context that ends with the first signal that asks to stop. Others change nothing: a second one must not
// end the runner while it waits for the runtime.
func notify() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	// A log that nobody reads any more is no reason to die in the middle of an apply.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(ignored)
		cancel(nil)
	}
}

func newCommand(version string, more []*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "runner",
		Short:         "Run a module's operation in a Job",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("version") {
				return printVersion(cmd, version)
			}
			fmt.Fprint(cmd.ErrOrStderr(), cmd.UsageString())
			return &usageError{errors.New("a command is required")}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.Flags().String("version", "", "print the version; =raw without the name")
	root.Flags().Lookup("version").NoOptDefVal = "true"
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newCopyCommand(), newRunCommand(), newVersionCommand(version))
	root.AddCommand(more...)
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("unknown command or argument %q for %q", args[0], cmd.CommandPath())}
	}
	return nil
}

func printVersion(cmd *cobra.Command, version string) error {
	format := "runner %s\n"
	if f := cmd.Flags().Lookup("version"); f != nil && f.Value.String() == "raw" {
		format = "%s\n"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, version)
	return err
}

func newVersionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printVersion(cmd, version) },
	}
}

func newCopyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "copy DEST",
		Short: "Copy this program to a file, for a container that does not have it",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("copy takes exactly one destination, not %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return Copy(args[0]) },
	}
}

func newRunCommand() *cobra.Command {
	o := defaults()
	var op string
	cmd := &cobra.Command{
		Use:   "run --op=OPERATION [flags]",
		Short: "Run one operation of the module to its end and report it",
		Long: `Run one operation of the module to its end and report it.

The log goes to the standard error, the result to the file of --result. The runner ends with 0 if the operation succeeded,
with 1 if it failed, was blocked or was stopped, and with 2 if the flags are wrong.

With --local the run needs no cluster: it keeps its state in a file, prints the result, and lets TF_LOG through.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Op = infrav1.Operation(op)
			if o.Local {
				o.localDefaults(func(flag string) bool { return cmd.Flags().Changed(flag) })
			}
			return Run(cmd.Context(), o, os.Environ(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&op, "op", "", "what to do: "+operationNames())
	f.StringArrayVar(&o.Bin, "bin", o.Bin, "the runtime; more are arguments before those of each step")
	f.StringVar(&o.Image, "image", "", "reference of the module image, for the result")
	f.StringVar(&o.Module, "module", o.Module, "directory of the module")
	f.StringVar(&o.Providers, "providers", o.Providers, "directory of the provider mirror, which may be missing")
	f.StringVar(&o.Work, "workdir", o.Work, "directory to work in")
	f.StringVar(&o.Config, "config", o.Config, "directory with main.tf.json and terraform.tfvars.json")
	f.StringVar(&o.Credentials, "credentials", o.Credentials, "directory with the files of the identity, which may be missing")
	f.StringVar(&o.Result, "result", o.Result, "file to write the result to; - is the standard output")
	f.DurationVar(&o.LockTimeout, "lock-timeout", o.LockTimeout, "how long to wait for the lock of the state")
	f.DurationVar(&o.StopTimeout, "stop-timeout", o.StopTimeout, "how long the runtime may go on after a stop before it is killed")
	f.StringArrayVar(&o.BackendConfig, "backend-config", nil, "setting of the backend, for a run without a broker")
	f.StringVar(&o.Broker, "broker", "", "directory in which the broker says where it listens")
	f.StringVar(&o.ForceUnlock, "force-unlock", "", "ID of a stale lock to break after init")
	f.BoolVar(&o.GuardDeletes, "guard-deletes", false, "plan an apply first and stop if it would delete or replace something")
	f.StringVar(&o.InputsHash, "inputs-hash", "", "hash of the inputs")
	f.StringVar(&o.AllowDeletesHash, "allow-deletes-hash", "", "hash of the inputs for which deleting was approved")
	f.StringVar(&o.ExpectPlan, "expect-plan", "", "fingerprint of the only plan that may be applied")
	f.StringVar(&o.PlanKeyFile, "plan-key-file", o.PlanKeyFile, "file with the plan key, for a run without a broker")
	f.BoolVar(&o.Events, "events", false, "send events through the broker")
	f.StringVar(&o.JobName, "job-name", "", "name of the Job, for the log")
	f.BoolVar(&o.Local, "local", false, "run without a cluster, with the state in a file")
	f.StringVar(&o.State, "state", "", "file of the state of a local run (default: terraform.tfstate in --config)")
	return cmd
}

// localDefaults are those of a run outside of a Job, where no flag says otherwise: nothing of it is in the places of an image.
func (o *Options) localDefaults(given func(flag string) bool) {
	for _, d := range []struct {
		flag  string
		to    *string
		value string
	}{
		{"result", &o.Result, "-"}, {"config", &o.Config, ""}, {"module", &o.Module, ""}, {"providers", &o.Providers, ""},
		{"credentials", &o.Credentials, ""}, {"plan-key-file", &o.PlanKeyFile, ""},
	} {
		if !given(d.flag) {
			*d.to = d.value
		}
	}
	if !given("workdir") && o.Config != "" {
		o.Work = filepath.Join(o.Config, ".runner")
	}
}
