package runner

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Paths and times of a Job that nothing else names (image.md 2 and 10, provider-ops.md 5).
const (
	// ConfigPath is where the root module and its values are.
	ConfigPath = "/captf/config"
	// CredentialsPath is where the files of the identity are.
	CredentialsPath = "/var/run/captf/credentials" //nolint:gosec // It is a path.
	// ResultPath is where Kubernetes reads the termination message.
	ResultPath = "/dev/termination-log"
	// PlanKeyPath is where a run without a broker may have a plan key. Nothing is mounted there in a Job.
	PlanKeyPath = "/captf/plan-key/key"

	// DefaultLockTimeout and DefaultStopTimeout are those of a runner that is not told otherwise (B-580).
	DefaultLockTimeout = 5 * time.Minute
	DefaultStopTimeout = time.Minute
)

// Options say what is run. They are the flags of `runner run`.
type Options struct {
	// Op is the operation.
	Op infrav1.Operation
	// Bin is the runtime and arguments to put before those of each step.
	Bin []string
	// Image is the reference of the module image, for the result only.
	Image string
	// Module, Providers, Work, Config and Credentials are directories. Providers and Credentials may be missing.
	Module, Providers, Work, Config, Credentials string
	// Result is the file that the result is written to; "-" is the standard output.
	Result string
	// LockTimeout is how long a step waits for the lock of the state, StopTimeout how long the runtime may go on after a stop.
	LockTimeout, StopTimeout time.Duration
	// BackendConfig completes the root's backend, for a run without a broker.
	BackendConfig []string
	// Broker is the directory in which the broker says where it listens; empty is a run without one.
	Broker string
	// ForceUnlock is the ID of a stale lock to be broken.
	ForceUnlock string
	// GuardDeletes blocks an apply that would delete or replace something, unless AllowDeletesHash is the InputsHash.
	GuardDeletes                 bool
	InputsHash, AllowDeletesHash string
	// ExpectPlan is the fingerprint of the only plan that may be applied.
	ExpectPlan string
	// PlanKeyFile has the plan key of a run without a broker.
	PlanKeyFile string
	// Events are sent to the broker.
	Events bool
	// JobName is for messages.
	JobName string
	// Local is a run outside of a Job: state in a file, and the runtime's debug log is allowed.
	Local bool
	// State is the file of a local run's state.
	State string
}

// operations are those that can be run.
var operations = []infrav1.Operation{
	infrav1.OperationApply, infrav1.OperationDestroy, infrav1.OperationRefresh, infrav1.OperationDrift, infrav1.OperationPlan,
}

// settle checks the options and fills in what follows from others.
func (o *Options) settle() error {
	switch {
	case o.Op == "":
		return fmt.Errorf("--op is required: one of %s", operationNames())
	case !slices.Contains(operations, o.Op):
		return fmt.Errorf("--op=%s is no operation: use one of %s", o.Op, operationNames())
	case len(o.Bin) == 0 || o.Bin[0] == "":
		return errors.New("--bin is empty: name the runtime")
	case o.LockTimeout < 0:
		return fmt.Errorf("--lock-timeout=%s is negative", o.LockTimeout)
	case o.StopTimeout < 0:
		return fmt.Errorf("--stop-timeout=%s is negative", o.StopTimeout)
	case o.Local && o.Broker != "":
		return errors.New("--local and --broker exclude each other: a local run keeps its state in a file")
	case o.Local && len(o.BackendConfig) > 0:
		return errors.New("--local and --backend-config exclude each other: a local run keeps its state in a file")
	case o.Broker != "" && len(o.BackendConfig) > 0:
		return errors.New("--broker and --backend-config exclude each other: the broker keeps the state")
	case o.Events && o.Broker == "":
		return errors.New("--events needs --broker, which sends them")
	case (o.GuardDeletes || o.ExpectPlan != "") && o.Op != infrav1.OperationApply:
		return fmt.Errorf("--guard-deletes and --expect-plan are for --op=%s", infrav1.OperationApply)
	}
	for _, p := range []struct {
		flag string
		path *string
	}{
		{"--module", &o.Module}, {"--workdir", &o.Work}, {"--config", &o.Config}, {"--providers", &o.Providers},
		{"--credentials", &o.Credentials}, {"--state", &o.State},
	} {
		if *p.path == "" {
			continue
		}
		abs, err := filepath.Abs(*p.path)
		if err != nil {
			return fmt.Errorf("%s=%s: %w", p.flag, *p.path, err)
		}
		*p.path = abs
	}
	bin, err := exec.LookPath(o.Bin[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		if bin, err = filepath.Abs(bin); err == nil {
			o.Bin = append([]string{bin}, o.Bin[1:]...) // the steps run in another directory
		}
	}
	if o.Module == "" || o.Work == "" || o.Config == "" {
		return errors.New("--module, --workdir and --config are required")
	}
	if o.Local && o.State == "" {
		o.State = filepath.Join(o.Config, "terraform.tfstate")
	}
	return nil
}

func operationNames() string {
	names := ""
	for i, op := range operations {
		if i > 0 {
			names += ", "
		}
		names += string(op)
	}
	return names
}

// planned reports whether an apply is planned and judged first.
func (o *Options) planned() bool { return o.GuardDeletes || o.ExpectPlan != "" }

// defaults are those of a Job.
func defaults() Options {
	return Options{
		Bin: []string{image.RuntimePath}, Module: image.ModulePath, Providers: image.ProvidersPath, Work: image.WorkPath,
		Config: ConfigPath, Credentials: CredentialsPath, Result: ResultPath, PlanKeyFile: PlanKeyPath,
		LockTimeout: DefaultLockTimeout, StopTimeout: DefaultStopTimeout,
	}
}
