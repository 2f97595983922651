package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// An object whose identity comes into being step by step is told each time what is missing, and is denied once for each
// reason (B-507).
func TestIdentityBecomesReady(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", nil)
	req := credentials.Request{Object: cluster}
	step := func(want string, denied credentials.Denial) {
		t.Helper()
		got := w.ensure(req)
		w.want(got, want)
		if got.Denied != denied {
			t.Errorf("denied is %q, not %q", got.Denied, denied)
		}
		if again := w.ensure(req); again.Denied != "" {
			t.Errorf("the same denial counts again: %q", again.Denied)
		}
		if got.RequeueAfter != credentials.RetryAfter || got.Ready() || got.SecretName != "" {
			t.Errorf("an object that is not ready: %+v", got)
		}
		w.clock.Step(30 * time.Second)
		w.settle()
	}
	pending := " U/MirrorPending T/RBACReady"
	step("F/IdentityNotFound"+pending, credentials.DenialNotFound)
	identity := w.identity(nil, "token", "region")
	step("F/NamespaceNotAllowed"+pending, credentials.DenialNamespace)
	update(w, identity, func(i *infrav1.TerraformClusterIdentity) { i.Spec.AllowedNamespaces = w.here() })
	step("F/SecretNotFound"+pending, credentials.DenialNotFound)
	source := w.source(map[string]string{"token": canary})
	step("F/CredentialsIncomplete"+pending, credentials.DenialIncomplete)
	update(w, source, func(s *corev1.Secret) { s.Data["region"] = nil })

	got := w.ensure(credentials.Request{Object: cluster, Live: true})
	w.want(got, ready)
	if got.RequeueAfter != 0 || !got.Ready() || got.Unready() != nil {
		t.Errorf("an object that is ready: %+v", got)
	}
	if diff := cmp.Diff([]string{"Normal MirrorCreated"}, events(got)); diff != "" {
		t.Error(diff)
	}
	mirror := w.mirror()
	if mirror == nil || mirror.Name != got.SecretName {
		t.Fatalf("the mirror is %v, not %s", mirror, got.SecretName)
	}
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{infrav1.LabelManaged: "true", infrav1.LabelMirrored: "true"},
			Annotations: map[string]string{
				infrav1.AnnotationIdentity:   identity.Name,
				infrav1.AnnotationSourceHash: credentials.SourceHash(map[string][]byte{"token": []byte(canary), "region": {}}),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "TerraformCluster", Name: "c", UID: cluster.UID}},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"token": []byte(canary), "region": {}},
	}
	is := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: mirror.Labels, Annotations: mirror.Annotations, OwnerReferences: mirror.OwnerReferences}, Type: mirror.Type, Data: mirror.Data}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Error(diff)
	}
	if want := (infrav1.IdentityReference{Kind: infrav1.IdentityKindClusterIdentity, Name: identity.Name}); got.Identity != want {
		t.Errorf("the identity is %v", got.Identity)
	}
}

// A pass with which everything is in order asks the API server nothing; one before a Job reads what it depends on.
func TestNothingToDo(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(&infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}}, "token")
	cluster := w.cluster("c", nil)
	machine := w.machine("m", "c", nil)
	local := w.machine("local", "c", func(s *infrav1.TerraformMachineSpec) {
		s.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "source"}
	})
	requests := []credentials.Request{{Object: cluster}, {Object: machine, Cluster: cluster}, {Object: local, Cluster: cluster}}
	for _, req := range requests {
		w.ensure(req)
		w.settle()
	}
	for _, req := range requests {
		if got := w.ensure(req); !got.Ready() || len(got.Events) > 0 {
			t.Errorf("a pass with nothing to do: %+v", got)
		}
	}
	if asked := w.requests.take(); len(asked) > 0 {
		t.Errorf("passes with nothing to do ask the API server: %s", asked)
	}
	req := requests[1]
	req.Live = true
	w.ensure(req)
	slices.Sort(w.requests.seen)
	want := []string{
		"GET /api/v1/namespaces/" + w.namespace,
		"GET /api/v1/namespaces/" + w.namespace + "/secrets/source",
		"GET /apis/infrastructure.cluster.x-k8s.io/v1alpha1/terraformclusteridentities/" + w.namespace + "-id",
	}
	if diff := cmp.Diff(want, w.requests.take()); diff != "" {
		t.Errorf("a pass before a Job (-want +got):\n%s", diff)
	}
	w.reset() // Another manager leads: it looks once, and writes nothing.
	for _, req := range requests {
		w.ensure(req)
	}
	for _, asked := range w.requests.take() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("another manager writes: %s", asked)
		}
	}
}

func TestRotation(t *testing.T) {
	w := newWorld(t)
	source := w.source(map[string]string{"token": "old", "extra": "old"})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	w.settle()
	rotate := func(value string) {
		update(w, source, func(s *corev1.Secret) { s.Data = map[string][]byte{"token": []byte(value)} })
	}
	now := func() string { return string(w.mirror().Data["token"]) }

	rotate("second")
	w.ensure(credentials.Request{Object: cluster})
	if now() != "old" {
		t.Error("a pass within the sync period reads the source")
	}
	w.ensure(credentials.Request{Object: cluster, Live: true})
	if now() != "second" || len(w.mirror().Data) != 1 {
		t.Errorf("before a Job the mirror is not brought up to date: %v", w.mirror().Data)
	}
	w.settle()
	rotate("third")
	w.clock.Step(10 * time.Minute)
	got := w.ensure(credentials.Request{Object: cluster})
	if now() != "third" {
		t.Error("after a sync period the mirror is not brought up to date")
	}
	w.want(got, ready)
	if len(got.Events) > 0 {
		t.Errorf("a rotation is no event: %v", got.Events)
	}
}

func TestMirrorHasItsUsersAsOwners(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	a, b := w.machine("a", "c", nil), w.machine("b", "c", nil)
	for _, user := range []infrav1.Workspace{cluster, a, b} {
		w.ensure(credentials.Request{Object: user, Cluster: cluster})
		w.settle()
	}
	want := []string{"TerraformCluster/c", "TerraformMachine/a", "TerraformMachine/b"}
	if diff := cmp.Diff(want, owners(w.mirror())); diff != "" {
		t.Error(diff)
	}
	for i, user := range []infrav1.Workspace{a, b, cluster} {
		told, err := w.Release(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		if last := i == 2; (len(told) == 1 && told[0].Reason == credentials.EventMirrorRemoved) != last || last == (w.mirror() != nil) {
			t.Errorf("release %d: events %v, mirror %v", i, told, w.mirror())
		}
		if told, err := w.Release(t.Context(), user); err != nil || len(told) > 0 {
			t.Errorf("a release again: %v, %v", told, err)
		}
	}
}

// A machine that was made again has another UID; what it was before is no owner any more.
func TestOwnerOfTheSameName(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	machine := w.machine("a", "c", nil)
	w.ensure(credentials.Request{Object: machine, Cluster: cluster})
	w.remove(machine)
	machine = w.machine("a", "c", nil)
	w.ensure(credentials.Request{Object: machine, Cluster: cluster})
	refs := w.mirror().OwnerReferences
	if len(refs) != 1 || refs[0].UID != machine.UID {
		t.Errorf("the owners are %v, not the machine %s", refs, machine.UID)
	}
}

func TestAnotherIdentity(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	w.settle()
	update(w, cluster, func(c *infrav1.TerraformCluster) {
		c.Spec.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "source"}
	})
	got := w.ensure(credentials.Request{Object: cluster})
	w.want(got, "T/LocalSecret T/Mirrored T/RBACReady")
	if got.SecretName != "source" || w.mirror() != nil {
		t.Errorf("the Secret is %s, the mirror %v", got.SecretName, w.mirror())
	}
	if diff := cmp.Diff([]string{"Normal MirrorRemoved"}, events(got)); diff != "" {
		t.Error(diff)
	}
	// A destroy from a record runs with what is recorded.
	got = w.ensure(credentials.Request{Object: cluster, Live: true, Identity: &infrav1.IdentityReference{Name: w.namespace + "-id"}})
	w.want(got, ready)
	if got.SecretName != names.Mirror(w.namespace+"-id") {
		t.Errorf("the Secret is %s", got.SecretName)
	}
}

func TestLocalSecret(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", func(s *infrav1.TerraformClusterSpec) {
		s.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "source"}
	})
	got := w.ensure(credentials.Request{Object: cluster})
	w.want(got, "F/SecretNotFound U/MirrorPending T/RBACReady")
	source := w.source(map[string]string{"token": canary})
	w.clock.Step(30 * time.Second)
	w.want(w.ensure(credentials.Request{Object: cluster}), "T/LocalSecret T/Mirrored T/RBACReady")
	w.remove(source)
	w.want(w.ensure(credentials.Request{Object: cluster}), "T/LocalSecret T/Mirrored T/RBACReady")
	w.want(w.ensure(credentials.Request{Object: cluster, Live: true}), "F/SecretNotFound U/MirrorPending T/RBACReady")
}

func TestResolution(t *testing.T) {
	w := newWorld(t)
	ref := func(name string) *infrav1.IdentityReference { return &infrav1.IdentityReference{Name: name} }
	kinds := func(cluster *infrav1.TerraformCluster, machine *infrav1.TerraformMachine) string {
		var out []string
		for _, object := range []infrav1.Workspace{cluster, machine} {
			if got := credentials.IdentityRef(object, cluster); got != nil {
				out = append(out, string(got.Kind)+"/"+got.Name)
			} else {
				out = append(out, "none")
			}
		}
		return strings.Join(out, " ")
	}
	cases := map[string]struct{ own, defaults, machine *infrav1.IdentityReference }{
		"TerraformClusterIdentity/own TerraformClusterIdentity/own":      {ref("own"), nil, nil},
		"TerraformClusterIdentity/own TerraformClusterIdentity/defaults": {ref("own"), ref("defaults"), nil},
		"TerraformClusterIdentity/own TerraformClusterIdentity/machine":  {ref("own"), ref("defaults"), ref("machine")},
		"none TerraformClusterIdentity/defaults":                         {nil, ref("defaults"), nil},
		"none none":                                                      {nil, nil, nil},
		"TerraformClusterIdentity/own Secret/local":                      {ref("own"), nil, &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "local"}},
	}
	for want, c := range cases {
		cluster, machine := &infrav1.TerraformCluster{}, &infrav1.TerraformMachine{}
		cluster.Spec.IdentityRef, machine.Spec.IdentityRef = c.own, c.machine
		if c.defaults != nil {
			cluster.Spec.Defaults = &infrav1.ClusterDefaults{IdentityRef: c.defaults}
		}
		if got := kinds(cluster, machine); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	// Nothing at all is named: a machine whose cluster is not known.
	machine := w.machine("m", "c", nil)
	w.want(w.ensure(credentials.Request{Object: machine}), "F/IdentityNotFound U/MirrorPending T/RBACReady")
}

func TestForeignSecret(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"not ours":            nil,
		"ours, but no mirror": {infrav1.LabelManaged: "true"},
		"of another identity": {infrav1.LabelManaged: "true", infrav1.LabelMirrored: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.source(map[string]string{"token": canary})
			w.identity(w.here())
			cluster := w.cluster("c", nil)
			create(w, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names.Mirror(w.namespace + "-id"), Labels: labels, Annotations: map[string]string{infrav1.AnnotationIdentity: "another"}},
				StringData: map[string]string{"mine": "kept"},
			})
			before := w.mirror()
			got := w.ensure(credentials.Request{Object: cluster})
			w.want(got, "T/IdentityAllowed F/MirrorFailed T/RBACReady")
			if got.SecretName != "" || got.Unready().Reason != infrav1.MirrorFailedReason {
				t.Errorf("a foreign Secret is used: %+v", got)
			}
			if _, err := w.Release(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, w.mirror()); diff != "" {
				t.Errorf("the foreign Secret was changed: %s", diff)
			}
		})
	}
}

// A mirror that someone spoiled is made whole: its labels, its content, and its existence.
func TestMirrorIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	w.settle()
	spoil := map[string]func(*corev1.Secret){
		"label": func(s *corev1.Secret) { delete(s.Labels, infrav1.LabelManaged) },
		"hash": func(s *corev1.Secret) {
			s.Annotations[infrav1.AnnotationSourceHash] = "?"
			s.Data["token"] = []byte("?")
		},
		"owner": func(s *corev1.Secret) { s.OwnerReferences = nil },
		"other key": func(s *corev1.Secret) {
			s.Annotations[infrav1.AnnotationSourceHash] = "?"
			s.Data["other"] = []byte("?")
		},
		"everything": nil,
	}
	for name, change := range spoil {
		mirror := w.mirror()
		if change == nil {
			w.remove(mirror)
		} else {
			update(w, mirror, change)
		}
		w.want(w.ensure(credentials.Request{Object: cluster}), ready)
		w.settle()
		mirror = w.mirror()
		if mirror.Labels[infrav1.LabelManaged] != "true" || len(mirror.Data) != 1 || string(mirror.Data["token"]) != canary || len(mirror.OwnerReferences) != 1 ||
			mirror.Annotations[infrav1.AnnotationSourceHash] != credentials.SourceHash(mirror.Data) {
			t.Errorf("%s: the mirror is %v", name, mirror.ObjectMeta)
		}
	}
}

func TestAllowedNamespaces(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	identity := w.identity(nil)
	cluster := w.cluster("c", nil)
	selector := func(key string, values ...string) *infrav1.AllowedNamespaces {
		return &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}}}
	}
	both := selector("no", "match")
	both.List = []string{w.namespace}
	cases := []struct {
		name    string
		allowed *infrav1.AllowedNamespaces
		ok      bool
	}{
		{"unset", nil, false},
		{"list", w.here(), true},
		{"another in the list", &infrav1.AllowedNamespaces{List: []string{"another"}}, false},
		{"selector", selector("kubernetes.io/metadata.name", w.namespace, "another"), true},
		{"selector of others", selector("kubernetes.io/metadata.name", "another"), false},
		{"list or selector", both, true},
		{"every namespace", &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}, true},
		{"invalid selector", selector("kubernetes.io/metadata.name"), false},
	}
	for _, c := range cases {
		update(w, identity, func(i *infrav1.TerraformClusterIdentity) { i.Spec.AllowedNamespaces = c.allowed })
		want := ready
		if !c.ok {
			want = "F/NamespaceNotAllowed U/MirrorPending T/RBACReady"
		}
		got := w.ensure(credentials.Request{Object: cluster})
		w.want(got, want)
		if (w.mirror() != nil) != c.ok {
			t.Errorf("%s: the mirror is there: %v", c.name, w.mirror() != nil)
		}
		w.settle()
	}
}

// Losing the label that allowed a namespace takes the mirror away at the next Job, and at the latest after a sync period.
func TestRevocation(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	identity := w.identity(&infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"may": "yes"}}})
	cluster := w.cluster("c", nil)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	label := func(value string) {
		update(w, namespace, func(n *corev1.Namespace) { n.Labels["may"] = value })
	}
	for _, live := range []bool{true, false} {
		label("yes")
		w.clock.Step(10 * time.Minute)
		w.want(w.ensure(credentials.Request{Object: cluster}), ready)
		w.settle()
		label("no")
		w.want(w.ensure(credentials.Request{Object: cluster}), ready)
		if !live {
			w.clock.Step(10 * time.Minute)
		}
		got := w.ensure(credentials.Request{Object: cluster, Live: live})
		w.want(got, "F/NamespaceNotAllowed U/MirrorPending T/RBACReady")
		if w.mirror() != nil || !slices.Contains(events(got), "Normal MirrorRemoved") {
			t.Errorf("live %v: the mirror is not removed: %v", live, got.Events)
		}
		w.settle()
	}
	// So does the end of the identity.
	label("yes")
	w.clock.Step(10 * time.Minute)
	w.want(w.ensure(credentials.Request{Object: cluster}), ready)
	w.remove(identity)
	w.want(w.ensure(credentials.Request{Object: cluster}), "F/IdentityNotFound U/MirrorPending T/RBACReady")
	if w.mirror() != nil {
		t.Error("the mirror outlives the identity")
	}
}

// A cache that does not have the identity yet, or an older one, denies nothing and removes no mirror.
func TestStaleCacheDeniesNothing(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	identity := w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	w.settle()
	for name, stale := range map[string]func(*infrav1.TerraformClusterIdentity) error{
		"missing": func(*infrav1.TerraformClusterIdentity) error {
			return notFound("terraformclusteridentities", identity.Name)
		},
		"older": func(i *infrav1.TerraformClusterIdentity) error { i.Spec.AllowedNamespaces = nil; return nil },
	} {
		c := credentials.New(credentials.Options{Client: lagging{w.client, stale}, Live: w.live, Clock: w.clock})
		got, err := c.Ensure(t.Context(), credentials.Request{Object: cluster})
		if err != nil {
			t.Fatal(err)
		}
		w.want(got, ready)
		if w.mirror() == nil {
			t.Errorf("%s: the mirror was removed", name)
		}
	}
}

// lagging is a client whose cache has another identity than the API server.
type lagging struct {
	client.Client
	identity func(*infrav1.TerraformClusterIdentity) error
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := l.Client.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if identity, ok := object.(*infrav1.TerraformClusterIdentity); ok {
		return l.identity(identity)
	}
	return nil
}

// What cannot be read or written is an error, is said in the conditions, and denies nothing.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(&infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}})
	cluster := w.cluster("c", nil)
	cases := []struct {
		fails string
		want  string
	}{
		{"get TerraformClusterIdentity", "U/IdentityCheckFailed U/MirrorPending T/RBACReady"},
		{"get Namespace", "U/IdentityCheckFailed U/MirrorPending T/RBACReady"},
		{"get Secret", "U/IdentityCheckFailed U/MirrorPending T/RBACReady"},
		{"create Secret", "T/IdentityAllowed F/MirrorFailed T/RBACReady"},
		{"create ServiceAccount", "T/IdentityAllowed T/Mirrored F/RBACFailed"},
		{"create RoleBinding", "T/IdentityAllowed T/Mirrored F/RBACFailed"},
	}
	for _, c := range cases {
		t.Run(c.fails, func(t *testing.T) {
			if c.want[:1] == "T" {
				for _, object := range w.rbac() {
					_ = w.api.Delete(t.Context(), object)
				}
				if m := w.mirror(); m != nil {
					w.remove(m)
				}
			}
			w.settle()
			broken := failing{Client: w.client, fails: c.fails}
			unit := credentials.New(credentials.Options{Client: broken, Live: failing{Client: w.api, fails: c.fails}, Clock: w.clock})
			got, err := unit.Ensure(t.Context(), credentials.Request{Object: cluster})
			if !errors.Is(err, errBroken) {
				t.Fatalf("the error is %v", err)
			}
			w.want(got, c.want)
			if got.Denied != "" || strings.Contains(fmt.Sprint(got, err), canary) {
				t.Errorf("a failure: %+v, %v", got, err)
			}
			w.settle()
		})
	}
}

var errBroken = errors.New("broken on purpose")

// failing is a client of which one call fails.
type failing struct {
	client.Client
	fails string
}

func (f failing) broken(verb string, object client.Object) error {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		_, kind, _ = strings.Cut(fmt.Sprintf("%T", object), ".")
	}
	if f.fails == verb+" "+kind {
		return errBroken
	}
	return nil
}

func (f failing) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := f.broken("get", object); err != nil && !(f.fails == "get Secret" && key.Name != "source") {
		return err
	}
	return f.Client.Get(ctx, key, object, options...)
}

func (f failing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := f.broken("create", object); err != nil {
		return err
	}
	return f.Client.Create(ctx, object, options...)
}

// A namespace that is going away takes no new objects, which is no error (B-834).
func TestTerminatingNamespace(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	got, err := w.Ensure(t.Context(), credentials.Request{Object: cluster})
	if err != nil {
		t.Fatal(err)
	}
	w.want(got, "T/IdentityAllowed F/MirrorFailed F/RBACFailed")
}

// Many objects of a namespace that start at once make one mirror and one RoleBinding, with all of them as users.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	w.identity(w.here())
	cluster := w.cluster("c", nil)
	const n = 20
	users := []infrav1.Workspace{cluster}
	for i := range n {
		m := &infrav1.TerraformMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("m%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i))}}
		users = append(users, m)
	}
	var group sync.WaitGroup
	for _, user := range users {
		group.Go(func() {
			got, err := w.Ensure(t.Context(), credentials.Request{Object: user, Cluster: cluster})
			if err != nil || !got.Ready() {
				t.Errorf("%s: %s, %v", user.GetName(), reasons(got), err)
			}
		})
	}
	group.Wait()
	if got := len(w.mirror().OwnerReferences); got != n+1 {
		t.Errorf("the mirror has %d owners, not %d", got, n+1)
	}
	group = sync.WaitGroup{}
	for _, user := range users {
		group.Go(func() {
			if _, err := w.Release(t.Context(), user); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if w.mirror() != nil {
		t.Errorf("the mirror outlives its users: %v", owners(w.mirror()))
	}
}
