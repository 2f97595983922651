package manager

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/internal/controllers"
	"github.com/captf-toolkit/captf/provider/internal/controllers/workspace"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/internal/version"
	"github.com/captf-toolkit/captf/provider/internal/webhooks"
)

// Run runs controllers and webhooks until the context ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	of := o.controllers()
	options := o.managerOptions(scheme)
	options.Cache = controllers.CacheOptions(of)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	of.Inspector = inspect.New(inspect.Options{
		Live: mgr.GetAPIReader(), Egress: o.ImageInspect, UserAgent: "captf-manager/" + version.Get().Version,
	})
	if err := controllers.Add(ctx, mgr, of); err != nil {
		return err
	}
	if err := webhooks.Register(mgr.GetWebhookServer(), webhooks.Options{
		Scheme: scheme, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Schemas: of.Inspector,
		Manager: webhooks.ManagerName(o.PodNamespace, o.ServiceAccount),
	}); err != nil {
		return err
	}
	if err := addProbes(mgr); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// controllers are the options of the controllers.
func (o Options) controllers() controllers.Options {
	return controllers.Options{
		Namespace: o.Namespace, SyncPeriod: o.SyncPeriod,
		Concurrency: map[contract.Role]int{
			contract.RoleCluster: o.Concurrency.Cluster, contract.RoleMachine: o.Concurrency.Machine, contract.RoleMachinePool: o.Concurrency.MachinePool,
		},
		TemplateConcurrency: o.Concurrency.MachineTemplate,
		Workspace: workspace.Options{
			RunnerImage: o.RunnerImage, StateBackups: o.StateBackups, DriftInterval: o.DriftDefaultInterval,
			MaxActiveJobs: o.MaxActiveJobs, ClusterMaxActiveJobs: o.ClusterMaxActiveJobs,
			ClusterOperationGate: o.ClusterOperationGate, RunnerEvents: o.RunnerEvents, WatchFilter: o.WatchFilter,
		},
	}
}
