package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// ClusterOutputs reads what machines and pools are given of their cluster's module.
type ClusterOutputs interface {
	// Exports returns the output exports from the cluster's state, nil when it is null or absent, and the names of the
	// failure domains that the module published. An error means that they cannot be read now; its text is shown to users, so
	// it must not quote the state.
	Exports(ctx context.Context, cluster *infrav1.TerraformCluster) (exports json.RawMessage, failureDomains []string, err error)
}

// Builder builds the inputs of objects. It is safe for concurrent use.
type Builder struct {
	// Live reads Secrets and ConfigMaps from the API, not from a cache: they hold what must not be stale, and their data is
	// not kept in memory (B-236).
	Live client.Reader
	// Outputs reads the state of clusters.
	Outputs ClusterOutputs
	// Contract is the version of the contract that is rendered.
	Contract contract.Definition
}

// Request is what inputs are built from.
type Request struct {
	// Object is the object; of a pool its status must hold the newest size.
	Object infrav1.Workspace
	// Owners are its owners, from ResolveOwners.
	Owners *Owners
	// Recorded are the files of the newest apply that was started, from the durable inputs; the zero value when there was
	// none. A cluster's control_plane_initialized is latched by it (B-277).
	Recorded Files
	// Schema is the variables schema of the image; nil accepts every variable (B-316).
	Schema *image.Schema
	// Options say how the root is written.
	Options contract.RenderOptions
}

// Files are the two files of a generated root.
type Files struct {
	// Root is main.tf.json, Values is terraform.tfvars.json.
	Root, Values []byte
}

// Empty tells that there are no files.
func (f Files) Empty() bool { return len(f.Root) == 0 && len(f.Values) == 0 }

// Result are the inputs of an object, or the gate that keeps them from being built.
type Result struct {
	// Gate is the first gate that is not met (B-050); nil when there are inputs.
	Gate *Gate
	// Inputs are the values as the contract has them.
	Inputs contract.Inputs
	// Variables are the user's variables after merging.
	Variables []contract.Variable
	// PoolSize is what follows from annotations and sizes of a pool; nil for other kinds. It is there as soon as the
	// MachinePool is known, whatever gate is closed.
	PoolSize *contract.PoolSize
	// Rendered are the files and their hashes.
	Rendered *contract.Rendered
	// Bytes is the size of both files together, also when they are too large to be used.
	Bytes int
}

// Build builds the inputs of an object. What is missing or wrong is a gate in the result; an error is one of the API or of
// this program. A machine that is provisioned keeps its recorded inputs and is not built again (B-295).
func (b *Builder) Build(ctx context.Context, req Request) (*Result, error) {
	out := &Result{}
	if pool := req.Owners.MachinePool; pool != nil {
		out.PoolSize = poolSize(req.Object, pool)
	}
	if req.Owners.Gate != nil {
		out.Gate = req.Owners.Gate
		return out, nil
	}
	var err error
	switch obj := req.Object.(type) {
	case *infrav1.TerraformCluster:
		out.Inputs, err = b.cluster(obj, req)
	case *infrav1.TerraformMachine:
		out.Inputs, out.Gate, err = b.machine(ctx, obj, req.Owners)
	case *infrav1.TerraformMachinePool:
		out.Inputs, out.Gate, err = b.pool(ctx, obj, req.Owners, out.PoolSize)
	default:
		err = fmt.Errorf("building the inputs of %T: it is none of the kinds that run modules", obj)
	}
	if err != nil || out.Gate != nil {
		out.Inputs = nil
		return out, err
	}
	out.Variables, out.Gate, err = b.variables(ctx, req.Object, req.Schema)
	if err != nil || out.Gate != nil {
		return out, err
	}
	return out, b.render(req.Options, out)
}

// cluster returns the inputs of a TerraformCluster (B-275 to B-278).
func (b *Builder) cluster(obj *infrav1.TerraformCluster, req Request) (contract.Inputs, error) {
	initialized, err := b.renderedInitialized(req.Recorded)
	if err != nil {
		return nil, err
	}
	cluster := req.Owners.Cluster
	in := &contract.ClusterInputs{
		CommonInputs:            common(obj, cluster),
		ControlPlaneEndpoint:    contract.EndpointInput(EndpointSource(obj), clusterEndpoint(cluster), objectEndpoint(obj)),
		ControlPlaneInitialized: contract.LatchInitialized(cluster.Status.Initialization.ControlPlaneInitialized, initialized),
		ClusterNetwork:          clusterNetwork(cluster.Spec.ClusterNetwork),
	}
	if cluster.Spec.Topology.IsDefined() {
		in.KubernetesVersion = optional(cluster.Spec.Topology.Version)
	}
	return in, nil
}

// renderedInitialized tells that control_plane_initialized was rendered true before.
func (b *Builder) renderedInitialized(files Files) (bool, error) {
	if files.Empty() {
		return false, nil
	}
	values, _, vs := b.Contract.ReadRendered(contract.RoleCluster, files.Root, files.Values)
	if len(vs) > 0 {
		return false, fmt.Errorf("reading the recorded inputs: %w", vs)
	}
	return string(values["control_plane_initialized"]) == "true", nil
}

// machine returns the inputs of a TerraformMachine (B-279 to B-284).
func (b *Builder) machine(ctx context.Context, obj *infrav1.TerraformMachine, owners *Owners) (contract.Inputs, *Gate, error) {
	machine := owners.Machine
	exports, _, gate, err := b.exports(ctx, obj, owners)
	if err != nil || gate != nil {
		return nil, gate, err
	}
	bootstrap, gate, err := b.bootstrap(ctx, obj, machineKind, machine.Name, machine.Spec.Bootstrap)
	if err != nil || gate != nil {
		return nil, gate, err
	}
	_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return &contract.MachineInputs{
		CommonInputs:      common(obj, owners.Cluster),
		ClusterOutputs:    exports,
		MachineName:       machine.Name,
		Bootstrap:         bootstrap,
		FailureDomain:     optional(machine.Spec.FailureDomain),
		KubernetesVersion: optional(machine.Spec.Version),
		ControlPlane:      controlPlane,
	}, nil, nil
}

// pool returns the inputs of a TerraformMachinePool (B-285 to B-292).
func (b *Builder) pool(ctx context.Context, obj *infrav1.TerraformMachinePool, owners *Owners, size *contract.PoolSize) (contract.Inputs, *Gate, error) {
	pool := owners.MachinePool
	exports, domains, gate, err := b.exports(ctx, obj, owners)
	if err != nil || gate != nil {
		return nil, gate, err
	}
	template := pool.Spec.Template
	bootstrap, gate, err := b.bootstrap(ctx, obj, machinePoolKind, pool.Name, template.Spec.Bootstrap)
	if err != nil || gate != nil {
		return nil, gate, err
	}
	return &contract.PoolInputs{
		CommonInputs:          common(obj, owners.Cluster),
		ClusterOutputs:        exports,
		MachinePoolName:       pool.Name,
		Replicas:              size.Replicas,
		Bootstrap:             bootstrap,
		FailureDomains:        pool.Spec.FailureDomains,
		ClusterFailureDomains: domains,
		KubernetesVersion:     optional(template.Spec.Version),
		NodeLabels:            template.Labels,
		Autoscaling:           size.Autoscaling,
	}, nil, nil
}

// exports returns what the cluster's module published (B-274, B-289), {} and the status of an externally managed one (B-048).
func (b *Builder) exports(ctx context.Context, obj infrav1.Workspace, owners *Owners) (json.RawMessage, []string, *Gate, error) {
	cluster := owners.TerraformCluster
	if owners.ExternallyManaged {
		names := make([]string, 0, len(cluster.Status.FailureDomains))
		for _, domain := range cluster.Status.FailureDomains {
			names = append(names, domain.Name)
		}
		slices.Sort(names)
		return nil, names, nil, nil
	}
	exports, domains, err := b.Outputs.Exports(ctx, cluster)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		return nil, nil, waiting(infrav1.WaitingForClusterExportsReason,
			"waiting for the exports of TerraformCluster %s/%s, which cannot be read: %v", cluster.Namespace, cluster.Name, err), nil
	}
	if vs := b.checkExports(obj.Role(), exports); len(vs) > 0 {
		return nil, nil, waiting(infrav1.WaitingForClusterExportsReason,
			"waiting for exports of TerraformCluster %s/%s that can be handed on: correct its module: %s",
			cluster.Namespace, cluster.Name, messages(vs)), nil
	}
	return exports, domains, nil, nil
}

// checkExports finds what keeps exports from being an input: they have no canonical form (B-045, B-296).
func (b *Builder) checkExports(role contract.Role, exports json.RawMessage) contract.Violations {
	if len(exports) == 0 {
		return nil
	}
	value, broken := contract.ParseJSON("exports", exports)
	if broken != nil {
		return contract.Violations{*broken}
	}
	if value == nil {
		return nil
	}
	row, _ := b.Contract.Spec(role).Input("captf_cluster_outputs")
	return row.Shape.Validate("exports", value).Blocking()
}

func common(obj infrav1.Workspace, cluster *clusterv1.Cluster) contract.CommonInputs {
	return contract.CommonInputs{
		Cluster:  contract.NamespacedName{Name: cluster.Name, Namespace: cluster.Namespace},
		Object:   contract.NamespacedName{Name: obj.GetName(), Namespace: obj.GetNamespace()},
		Template: obj.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation],
	}
}

func clusterNetwork(n clusterv1.ClusterNetwork) *contract.ClusterNetwork {
	if len(n.Pods.CIDRBlocks) == 0 && len(n.Services.CIDRBlocks) == 0 && n.ServiceDomain == "" && n.APIServerPort == 0 {
		return nil
	}
	out := &contract.ClusterNetwork{
		Pods: n.Pods.CIDRBlocks, Services: n.Services.CIDRBlocks, ServiceDomain: optional(n.ServiceDomain),
	}
	if n.APIServerPort != 0 {
		port := int64(n.APIServerPort)
		out.APIServerPort = &port
	}
	return out
}

// EndpointSource returns who supplies the endpoint of a cluster, as it is recorded.
func EndpointSource(obj *infrav1.TerraformCluster) contract.EndpointSource {
	return contract.EndpointSource(obj.Annotations[contract.AnnotationEndpointSource])
}

// EndpointSourceToRecord returns what is written on the object before its first apply, "" when nothing is (B-790): nobody
// supplies an endpoint, or it is recorded already, which never changes.
func EndpointSourceToRecord(obj *infrav1.TerraformCluster, cluster *clusterv1.Cluster) contract.EndpointSource {
	if EndpointSource(obj) != contract.EndpointSourceNone {
		return contract.EndpointSourceNone
	}
	return contract.InitialEndpointSource(clusterEndpoint(cluster), objectEndpoint(obj))
}

func clusterEndpoint(cluster *clusterv1.Cluster) *contract.Endpoint {
	if cluster == nil || cluster.Spec.ControlPlaneEndpoint.IsZero() {
		return nil
	}
	e := cluster.Spec.ControlPlaneEndpoint
	return &contract.Endpoint{Host: e.Host, Port: int64(e.Port)}
}

func objectEndpoint(obj *infrav1.TerraformCluster) *contract.Endpoint {
	if e := obj.Spec.ControlPlaneEndpoint; e != nil {
		return &contract.Endpoint{Host: e.Host, Port: int64(e.Port)}
	}
	return nil
}

// poolSize decides about the size of a pool (B-286, B-292).
func poolSize(obj infrav1.Workspace, pool *clusterv1.MachinePool) *contract.PoolSize {
	own, ok := obj.(*infrav1.TerraformMachinePool)
	if !ok {
		return nil
	}
	size := contract.SizePool(pool.Annotations, wide(pool.Spec.Replicas), wide(own.Status.Replicas))
	return &size
}

// AutoscalingActive returns the condition of a pool that its size stands for.
func AutoscalingActive(size contract.PoolSize) conditions.Condition {
	return conditions.Condition{Type: infrav1.AutoscalingActiveCondition, Value: conditions.From(size.Condition)}
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	w := int64(*n)
	return &w
}

// optional returns nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
