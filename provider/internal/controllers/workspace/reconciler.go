package workspace

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// Options are what the manager's flags decide (provider-ops.md 1.1).
type Options struct {
	// RunnerImage is the image of the runner and the broker.
	RunnerImage string
	// StateBackups is how many backups of a state are kept; 0 takes none.
	StateBackups int
	// DriftInterval is that of objects that name none, and that no cluster of theirs does.
	DriftInterval time.Duration
	// MaxActiveJobs and ClusterMaxActiveJobs limit the Jobs that run at once, overall and for one cluster; 0 is no limit.
	MaxActiveJobs, ClusterMaxActiveJobs int
	// ClusterOperationGate keeps a cluster's operations apart from those of its machines and pools.
	ClusterOperationGate bool
	// RunnerEvents lets runs report their steps as events.
	RunnerEvents bool
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter of objects to reconcile; "" is all objects.
	WatchFilter string
	// Concurrency is how many objects of the kind are reconciled at once.
	Concurrency int
}

// Reconciler reconciles the objects of one role.
type Reconciler struct {
	Role contract.Role
	// Client reads from the manager's caches and writes. Secrets are read through it as metadata only.
	Client client.Client
	// Live reads from the API server.
	Live        client.Reader
	Recorder    events.EventRecorder
	Clock       clock.PassiveClock
	Leases      *lease.Store
	Records     *record.Store
	Inputs      *inputs.Builder
	Credentials *credentials.Credentials
	States      *States
	Inspector   *inspect.Inspector
	Options     Options

	// recorded are the UIDs of Jobs that were marked as recorded, for the moment until the cache shows the mark.
	recorded *lru.Cache
	// tended are the versions of states, by suffix, that were backed up and owned; files and given are recorded files and
	// inputs by the version of their Secret.
	tended, files, given *lru.Cache
}

// Reconcile is one pass over one object.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := r.kind().object()
	if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", r.Role.Kind(), req.NamespacedName, err)
	}
	if f := r.Options.WatchFilter; f != "" && obj.GetLabels()[watchFilterLabel] != f {
		return ctrl.Result{}, nil
	}
	return r.pass(obj).run(ctx)
}

// watchFilterLabel selects the objects of one of several managers (provider-ops.md 1.3).
const watchFilterLabel = "cluster.x-k8s.io/watch-filter"

// forget drops what is remembered of an object that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.States.Forget(state.KeyFor(r.Role, name.Namespace, name.Name))
	metrics.Forget(r.Role.Kind(), name.Namespace, name.Name)
}

// kind is what differs between the Go types of the three kinds.
type kind struct {
	object func() infrav1.Workspace
	list   func() client.ObjectList
}

var kinds = map[contract.Role]kind{
	contract.RoleCluster: {
		object: func() infrav1.Workspace { return &infrav1.TerraformCluster{} },
		list:   func() client.ObjectList { return &infrav1.TerraformClusterList{} },
	},
	contract.RoleMachine: {
		object: func() infrav1.Workspace { return &infrav1.TerraformMachine{} },
		list:   func() client.ObjectList { return &infrav1.TerraformMachineList{} },
	},
	contract.RoleMachinePool: {
		object: func() infrav1.Workspace { return &infrav1.TerraformMachinePool{} },
		list:   func() client.ObjectList { return &infrav1.TerraformMachinePoolList{} },
	},
}

func (r *Reconciler) kind() kind { return kinds[r.Role] }

// mutable tells that changed inputs lead to another apply (B-087).
func (r *Reconciler) mutable() bool { return r.Role != contract.RoleMachine }
