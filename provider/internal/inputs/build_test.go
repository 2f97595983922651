package inputs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// TestReadErrors lets each read fail in turn: an error of the API is an error, never a gate, and never half a result.
func TestReadErrors(t *testing.T) {
	for _, base := range []struct {
		bases  []string
		object string
	}{
		{[]string{"cluster"}, "TerraformCluster/prod-infra"},
		{[]string{"cluster", "machine"}, "TerraformMachine/prod-cp-a-infra"},
		{[]string{"cluster", "pool"}, "TerraformMachinePool/prod-mp-infra"},
	} {
		objects := load(t, t.TempDir(), testCase{Base: base.bases})
		obj := pick(t, objects, base.object)
		obj.Workspace().VariablesFrom = []infrav1.VariablesSource{
			{SecretRef: &infrav1.VariablesSourceReference{Name: "a"}, Optional: new(true)},
			{ConfigMapRef: &infrav1.VariablesSourceReference{Name: "a"}, Optional: new(true)},
		}
		broken := errors.New("the API is away")
		reads := 0
		attempt := func(failing int) (*inputs.Result, error) {
			reads = 0
			reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
					if reads++; reads == failing {
						return broken
					}
					return c.Get(ctx, key, into, opts...)
				},
			}).Build()
			owners, err := inputs.ResolveOwners(t.Context(), reader, obj)
			if err != nil {
				return nil, err
			}
			builder := &inputs.Builder{Live: reader, Outputs: cluster{}, Contract: versions.Default()}
			return builder.Build(t.Context(), inputs.Request{Object: obj, Owners: owners})
		}
		built, err := attempt(0)
		if err != nil || built.Rendered == nil {
			t.Fatalf("%s: no inputs although nothing fails: %v, %+v", base.object, err, built)
		}
		total := reads
		if total < 3 {
			t.Errorf("%s: %d reads", base.object, total)
		}
		for n := 1; n <= total; n++ {
			if built, err := attempt(n); !errors.Is(err, broken) || built != nil && built.Rendered != nil {
				t.Errorf("%s: read %d of %d fails: %v, %+v", base.object, n, total, err, built)
			}
		}
	}
}

// stopped is a state that is being read when the manager stops.
type stopped struct{ cancel context.CancelFunc }

func (s stopped) Exports(context.Context, *infrav1.TerraformCluster) (json.RawMessage, []string, error) {
	s.cancel()
	return nil, nil, context.Canceled
}

// TestStopIsNoGate: a manager that stops must not tell users that exports cannot be read.
func TestStopIsNoGate(t *testing.T) {
	objects := load(t, t.TempDir(), testCase{Base: []string{"cluster", "machine"}})
	obj := pick(t, objects, "TerraformMachine/prod-cp-a-infra")
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
	owners, err := inputs.ResolveOwners(t.Context(), reader, obj)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	builder := &inputs.Builder{Live: reader, Outputs: stopped{cancel}, Contract: versions.Default()}
	if built, err := builder.Build(ctx, inputs.Request{Object: obj, Owners: owners}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", built, err)
	}
}

// TestRecordedFiles reads records that are whole, old and broken.
func TestRecordedFiles(t *testing.T) {
	d := versions.Default()
	files := recorded(t)
	if in, ok := inputs.Decode(d, contract.RoleCluster, files).(*contract.ClusterInputs); !ok || !in.ControlPlaneInitialized {
		t.Errorf("decoded %+v", in)
	}
	if in := inputs.Decode(d, contract.RoleCluster, inputs.Files{}); in != nil {
		t.Errorf("no files are decoded as %+v", in)
	}
	broken := inputs.Files{Root: files.Root, Values: []byte(`{"captf_cluster": `)}
	if in := inputs.Decode(d, contract.RoleCluster, broken); in != nil {
		t.Errorf("broken files are decoded as %+v", in)
	}
	if _, err := inputs.Rehash(d, contract.RoleCluster, broken); err == nil {
		t.Error("broken files are hashed")
	}
	old := inputs.Files{Root: files.Root, Values: []byte(`{"captf_contract":"v1alpha1"}`)}
	if in := inputs.Decode(d, contract.RoleCluster, old); in != nil {
		t.Errorf("a record without most inputs is decoded as %+v", in)
	}
	if _, err := inputs.Rehash(d, contract.RoleCluster, old); err != nil {
		t.Errorf("a record that is older than the tables cannot be hashed: %v", err)
	}
	fraction := inputs.Files{Root: files.Root, Values: []byte(`{"captf_contract":1.5}`)}
	if _, err := inputs.Rehash(d, contract.RoleCluster, fraction); err == nil {
		t.Error("a number without canonical form is hashed")
	}

	objects := load(t, t.TempDir(), testCase{Base: []string{"cluster"}})
	obj := pick(t, objects, "TerraformCluster/prod-infra")
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
	owners, err := inputs.ResolveOwners(t.Context(), reader, obj)
	if err != nil {
		t.Fatal(err)
	}
	builder := &inputs.Builder{Live: reader, Outputs: cluster{}, Contract: d}
	if _, err := builder.Build(t.Context(), inputs.Request{Object: obj, Owners: owners, Recorded: broken}); err == nil {
		t.Error("a latch that cannot be read is taken for open")
	}
}

// TestEndpointSourceToRecord is B-790: it is recorded once, and never changes.
func TestEndpointSourceToRecord(t *testing.T) {
	set := &infrav1.APIEndpoint{Host: "vip", Port: 443}
	with := func(e *infrav1.APIEndpoint, source string) *infrav1.TerraformCluster {
		c := parent(func(s *infrav1.TerraformClusterSpec) { s.ControlPlaneEndpoint = e })
		if source != "" {
			c.Annotations = map[string]string{contract.AnnotationEndpointSource: source}
		}
		return c
	}
	cluster := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "vip", Port: 443}}}
	for name, c := range map[string]struct {
		obj     *infrav1.TerraformCluster
		cluster *clusterv1.Cluster
		want    contract.EndpointSource
	}{
		"nobody":             {with(nil, ""), &clusterv1.Cluster{}, ""},
		"no cluster":         {with(nil, ""), nil, ""},
		"the object":         {with(set, ""), nil, contract.EndpointSourceUser},
		"half of one":        {with(&infrav1.APIEndpoint{Host: "vip"}, ""), nil, ""},
		"the Cluster":        {with(nil, ""), cluster, contract.EndpointSourceUser},
		"recorded as user":   {with(set, "user"), cluster, ""},
		"recorded as module": {with(set, "module"), cluster, ""},
	} {
		if got := inputs.EndpointSourceToRecord(c.obj, c.cluster); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOwnersOfObject(t *testing.T) {
	obj := parent()
	obj.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "a/b/c", Kind: "Cluster", Name: "nonsense"},
		{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Name: "prod"},
	}
	none := &inputs.Owners{}
	if got := none.ClusterName(obj); got != "prod" {
		t.Errorf("without a label the cluster is %q", got)
	}
	if got := none.ClusterName(machine(nil)); got != "" {
		t.Errorf("a machine without a label is of cluster %q", got)
	}
	found := &inputs.Owners{Cluster: &clusterv1.Cluster{}}
	found.Cluster.Name = "found"
	if got := found.ClusterName(machine(nil)); got != "found" {
		t.Errorf("the cluster is %q", got)
	}
	obj.Labels = map[string]string{clusterv1.ClusterNameLabel: "label"}
	if got := found.ClusterName(obj); got != "label" {
		t.Errorf("with a label the cluster is %q", got)
	}

	paused := machine(nil)
	if none.Paused(paused) || found.Paused(paused) {
		t.Error("it is paused without reason")
	}
	paused.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	if !none.Paused(paused) || !found.Paused(paused) {
		t.Error("the annotation does not pause it")
	}
	found.Cluster.Spec.Paused = new(true)
	if !found.Paused(machine(nil)) {
		t.Error("its Cluster does not pause it")
	}
}

// foreign is a workspace of a kind that there is not.
type foreign struct{ *infrav1.TerraformMachine }

func TestForeignKind(t *testing.T) {
	obj := foreign{machine(nil)}
	if _, err := inputs.ResolveOwners(t.Context(), nil, obj); err == nil || !strings.Contains(err.Error(), "none of the kinds") {
		t.Errorf("the error is %v", err)
	}
	builder := &inputs.Builder{Contract: versions.Default()}
	if _, err := builder.Build(t.Context(), inputs.Request{Object: obj, Owners: &inputs.Owners{}}); err == nil {
		t.Error("inputs of an unknown kind are built")
	}
}
