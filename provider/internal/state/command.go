package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
)

// unlockTimeout bounds giving back the lock after an interrupt.
const unlockTimeout = 10 * time.Second

// access are the flags that say which state of which cluster is meant.
type access struct {
	kubeconfig string
	context    string
	namespace  string
	suffix     string
	labels     []string
}

// NewCommand returns the command `state`, with which an operator takes a state out of a cluster and puts it back. A state
// of one Secret any stock binary reads by itself; one of several Terraform does, and OpenTofu does not (B-404). The command
// joins the parts, prints what `state pull` prints, and stores what `state push` would, as the broker does: split, with a
// backup, and never over a newer state or another one unless told to.
func NewCommand() *cobra.Command {
	var a access
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Take a module's state out of a cluster, or put it back",
		Args:  cobra.NoArgs,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "path of a kubeconfig; default is $KUBECONFIG, then ~/.kube/config, then the pod's own account")
	f.StringVar(&a.context, "context", "", "context of the kubeconfig; default is its current one")
	f.StringVarP(&a.namespace, "namespace", "n", "", "namespace of the object; default is that of the context")
	f.StringVar(&a.suffix, "suffix", "", "suffix of the state's Secrets, tfstate-default-<suffix>, instead of OBJECT")
	cmd.AddCommand(newPull(&a), newPush(&a))
	return cmd
}

const objectHelp = `
OBJECT is the object the state belongs to, such as terraformcluster/prod, terraformmachine/prod-1 or
terraformmachinepool/workers; --suffix is the other way to say it.`

func newPull(a *access) *cobra.Command {
	return &cobra.Command{
		Use:   "pull [OBJECT]",
		Short: "Print a state, joined from its parts",
		Long: "Print a state as a file, joined from its parts. It holds every secret that the module knows: keep it accordingly.\n" +
			objectHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, k, err := a.open(args)
			if err != nil {
				return err
			}
			raw, st, err := s.Raw(cmd.Context(), k)
			if err != nil {
				return fmt.Errorf("reading state %s/%s: %w", k.Namespace, k.Secret(0), err)
			}
			if _, err := cmd.OutOrStdout().Write(raw); err != nil {
				return fmt.Errorf("printing the state: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "read serial %d of lineage %s: %d managed resources, %d bytes compressed in %d Secrets\n",
				st.Serial, st.Lineage, st.Resources, st.Bytes, st.Parts)
			return nil
		},
	}
}

func newPush(a *access) *cobra.Command {
	var force bool
	var backups int
	cmd := &cobra.Command{
		Use:   "push [OBJECT] FILE",
		Short: "Store a state, split into parts where it is large",
		Long: "Store the state in FILE, - for standard input, under the state's lock. What it replaces is kept as a backup. A state of\n" +
			"another lineage or with a lower serial is refused without --force. Where the state is gone, its labels and the hash of the\n" +
			"inputs that were applied are taken from its backups.\n" + objectHelp,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, k, err := a.open(args[:len(args)-1])
			if err != nil {
				return err
			}
			raw, err := readFile(cmd, args[len(args)-1])
			if err != nil {
				return err
			}
			return push(cmd.Context(), s, k, raw, WriteOptions{Force: force, Backups: backups, NoPrune: true}, cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&force, "force", false, "store it whatever is there: another lineage, a higher serial, or something unreadable")
	f.IntVar(&backups, "backups", 5, "0 keeps no backup of what is replaced")
	f.StringArrayVar(&a.labels, "label", nil, "label KEY=VALUE of the Secrets; needed, five times, only where there is neither a state nor a backup of it")
	return cmd
}

// readFile reads the state to be pushed.
func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading the state to push: %w", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the state to push: %w", err)
	}
	return raw, nil
}

// push writes a state under the lock.
func push(ctx context.Context, s *Store, k Key, raw []byte, o WriteOptions, log io.Writer) (err error) {
	if k, err = s.withLabels(ctx, k); err != nil {
		return err
	}
	info := &LockInfo{
		ID: rand.Text(), Operation: OperationPush, Who: who(), Version: "captf", Created: s.Clock.Now().UTC().Format(time.RFC3339Nano),
	}
	if err := s.Acquire(ctx, k, info, nil); err != nil {
		return fmt.Errorf("locking state %s/%s: %w", k.Namespace, k.Secret(0), err)
	}
	defer func() {
		// An interrupt must not leave the lock behind: nothing would break it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		if _, e := s.Unlock(ctx, k, info.ID, nil); e != nil {
			err = errors.Join(err, fmt.Errorf("unlocking state %s/%s: %w", k.Namespace, k.Secret(0), e))
		}
	}()
	v, err := s.newVersion(raw)
	if err != nil {
		return err
	}
	var told string
	if o.Marks, told, err = s.recall(ctx, k, v); err != nil {
		return err
	}
	o.Check = func(ctx context.Context) error {
		l, err := s.Lock(ctx, k)
		if err != nil {
			return err
		}
		if l == nil || !l.is(info.ID) {
			return fmt.Errorf("writing state %s/%s: %w", k.Namespace, k.Secret(0), ErrLockLost)
		}
		return nil
	}
	st, err := s.Write(ctx, k, raw, o)
	if err != nil {
		if errors.Is(err, ErrRefused) {
			err = fmt.Errorf("%w; --force stores it all the same", err)
		}
		return err
	}
	fmt.Fprintf(log, "stored serial %d of lineage %s: %d managed resources, %d bytes compressed in %d Secrets\n",
		st.Serial, st.Lineage, st.Resources, st.Bytes, st.Parts)
	if told != "" {
		fmt.Fprintln(log, told)
	}
	return nil
}

func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// open connects to the cluster and finds the key.
func (a *access) open(args []string) (*Store, Key, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, Key{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if a.namespace != "" {
		namespace = a.namespace
	}
	k, err := a.key(namespace, args)
	if err != nil {
		return nil, Key{}, err
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, Key{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c, err := NewClient(config)
	if err != nil {
		return nil, Key{}, err
	}
	return &Store{Writer: c, Live: c, Clock: clock.RealClock{}}, k, nil
}

// key reads which state is meant.
func (a *access) key(namespace string, args []string) (Key, error) {
	k := Key{Namespace: namespace, Suffix: a.suffix}
	switch {
	case a.suffix != "" && len(args) > 0:
		return k, errors.New("choosing a state: give OBJECT or --suffix, not both")
	case a.suffix == "" && len(args) == 0:
		return k, errors.New("choosing a state: give OBJECT, such as terraformcluster/prod, or --suffix")
	case len(args) > 0:
		kind, name, ok := strings.Cut(args[0], "/")
		role, known := roleOf(kind)
		if !ok || !known || name == "" {
			return k, fmt.Errorf("choosing a state: OBJECT %q is not of the form terraformcluster/NAME, terraformmachine/NAME or terraformmachinepool/NAME", args[0])
		}
		k = KeyFor(role, namespace, name)
	}
	for _, l := range a.labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return k, fmt.Errorf("reading --label %q: it is not of the form KEY=VALUE", l)
		}
		if k.Labels == nil {
			k.Labels = map[string]string{}
		}
		k.Labels[key] = value
	}
	return k, nil
}

func roleOf(kind string) (contract.Role, bool) {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	for _, role := range contract.Roles() {
		if k := strings.ToLower(role.Kind()); kind == k || kind == k+"s" {
			return role, true
		}
	}
	return contract.RoleCluster, false
}

// NewClient returns a client without a cache for what a broker, or an operator in its place, reads and writes. It asks the
// API server for nothing else, discovery included.
func NewClient(config *rest.Config, more ...schema.GroupVersionKind) (client.Client, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range append([]schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Secret"), coordinationv1.SchemeGroupVersion.WithKind("Lease"), eventsv1.SchemeGroupVersion.WithKind("Event"),
	}, more...) {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return c, nil
}
