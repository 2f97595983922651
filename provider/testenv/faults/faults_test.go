package faults_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// direct is a client without faults.
func direct(t *testing.T) (client.WithWatch, string) {
	t.Helper()
	ns := tools.Namespace(t)
	c, err := client.NewWithWatch(tools.Environment(t).Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c, ns
}

func configMap(ns, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"value": value}}, Data: map[string]string{"value": value}}
}

// valueOf is what the server has, "-" for nothing.
func valueOf(t *testing.T, c client.Reader, ns, name string) string {
	t.Helper()
	m := &corev1.ConfigMap{}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, m)
	if apierrors.IsNotFound(err) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Data["value"]
}

// scenario writes three times.
func scenario(t *testing.T, c client.Client, ns string) []error {
	t.Helper()
	m := configMap(ns, "m", "1")
	errs := []error{c.Create(t.Context(), m)}
	m = configMap(ns, "m", "2")
	errs = append(errs, c.Update(t.Context(), m))
	before := configMap(ns, "m", "2")
	errs = append(errs, c.Patch(t.Context(), configMap(ns, "m", "3"), client.MergeFrom(before)))
	_ = c.Get(t.Context(), client.ObjectKeyFromObject(m), m)
	return append(errs, c.Delete(t.Context(), m))
}

// TestFailWrite fails each write, before and after it reached the server.
func TestFailWrite(t *testing.T) {
	below, _ := direct(t)
	boom := errors.New("boom")
	for n, want := range map[int]map[faults.Moment]string{
		// What is there before the write that fails, and after it.
		1: {faults.Before: "-", faults.After: "1"}, 2: {faults.Before: "1", faults.After: "2"}, 3: {faults.Before: "2", faults.After: "3"}, 4: {faults.Before: "3", faults.After: "-"},
	} {
		for _, when := range faults.Moments() {
			_, ns := direct(t)
			f := faults.New()
			f.FailWrite(n, when, boom)
			c := f.Client(below, "test")
			var seen string
			f.FailWhere(func(faults.Call) bool { return false }, 1, when, nil) // never
			for i, step := range []func() error{
				func() error { return c.Create(t.Context(), configMap(ns, "m", "1")) },
				func() error { return c.Update(t.Context(), configMap(ns, "m", "2")) },
				func() error {
					return c.Patch(t.Context(), configMap(ns, "m", "3"), client.MergeFrom(configMap(ns, "m", "2")))
				},
				func() error { return c.Delete(t.Context(), configMap(ns, "m", "")) },
			} {
				err := step()
				if i+1 == n {
					seen = valueOf(t, below, ns, "m")
					if !errors.Is(err, boom) || !errors.Is(err, faults.ErrInjected) {
						t.Errorf("write %d %s: got %v", n, when, err)
					}
					break
				}
				if err != nil {
					t.Fatalf("write %d: %v", i+1, err)
				}
			}
			if seen != want[when] {
				t.Errorf("write %d %s: there is %s, want %s", n, when, seen, want[when])
			}
			if err := c.Create(t.Context(), configMap(ns, "other", "x")); err != nil {
				t.Errorf("the write after write %d: %v", n, err)
			}
		}
	}
}

// TestCut: nothing works after the write at which the connection was cut, until it is restored.
func TestCut(t *testing.T) {
	for _, when := range faults.Moments() {
		below, ns := direct(t)
		f := faults.New()
		stopped := 0
		f.CutAtWrite(2, when, func() { stopped++ })
		c := f.Client(below, "test")
		reader := f.Reader(below, below.Scheme(), "live")
		if !f.Pending() || f.IsCut() {
			t.Error("it is cut already")
		}
		errs := scenario(t, c, ns)
		if errs[0] != nil || !errors.Is(errs[1], faults.ErrCut) || !errors.Is(errs[2], faults.ErrCut) || !errors.Is(errs[3], faults.ErrCut) {
			t.Errorf("%s: %v", when, errs)
		}
		if err := reader.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m"}, &corev1.ConfigMap{}); !errors.Is(err, faults.ErrCut) {
			t.Errorf("another client of the same faults: %v", err)
		}
		if want := map[faults.Moment]string{faults.Before: "1", faults.After: "2"}[when]; valueOf(t, below, ns, "m") != want {
			t.Errorf("%s: there is %s, want %s", when, valueOf(t, below, ns, "m"), want)
		}
		if stopped != 1 || f.Pending() || !f.IsCut() {
			t.Errorf("stopped %d times, pending %v, cut %v", stopped, f.Pending(), f.IsCut())
		}
		f.Restore()
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m"}, &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
	}
}

// TestAnswerIsLost: who gets an error has no answer either.
func TestAnswerIsLost(t *testing.T) {
	below, ns := direct(t)
	f := faults.New()
	f.FailWrite(1, faults.After, nil)
	m := configMap(ns, "m", "1")
	if err := f.Client(below, "test").Create(t.Context(), m); !errors.Is(err, faults.ErrInjected) {
		t.Fatal(err)
	}
	if m.UID != "" || m.ResourceVersion != "" {
		t.Errorf("the caller has %v", m.ObjectMeta)
	}
}

// TestCounts: every call by client, verb, kind and subresource.
func TestCounts(t *testing.T) {
	below, ns := direct(t)
	f := faults.New()
	c := f.Client(below, "cached")
	live := f.Reader(below, below.Scheme(), "live")
	for _, err := range scenario(t, c, ns) {
		if err != nil {
			t.Fatal(err)
		}
	}
	namespace := &corev1.Namespace{}
	for _, do := range []func() error{
		func() error { return live.Get(t.Context(), client.ObjectKey{Name: ns}, namespace) },
		func() error { return live.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns)) },
		func() error { return c.Status().Update(t.Context(), namespace) },
		func() error {
			return c.Status().Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(`{}`)))
		},
		func() error {
			return c.Apply(t.Context(), applycorev1.ConfigMap("applied", ns).WithData(map[string]string{"a": "b"}), client.FieldOwner("test"))
		},
		func() error { return c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(ns)) },
		func() error {
			w, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns))
			if err == nil {
				w.Stop()
			}
			return err
		},
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	maps, spaces := schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Namespace"}
	want := map[faults.Key]int{
		{Client: "cached", Verb: faults.Create, Kind: maps}: 1, {Client: "cached", Verb: faults.Update, Kind: maps}: 1, {Client: "cached", Verb: faults.Patch, Kind: maps}: 1,
		{Client: "cached", Verb: faults.Get, Kind: maps}: 1, {Client: "cached", Verb: faults.Delete, Kind: maps}: 1, {Client: "cached", Verb: faults.Apply, Kind: maps}: 1,
		{Client: "cached", Verb: faults.DeleteAllOf, Kind: maps}: 1, {Client: "cached", Verb: faults.Watch, Kind: maps}: 1,
		{Client: "live", Verb: faults.Get, Kind: spaces}: 1, {Client: "live", Verb: faults.List, Kind: maps}: 1,
		{Client: "cached", Verb: faults.Update, Kind: spaces, Subresource: "status"}: 1, {Client: "cached", Verb: faults.Patch, Kind: spaces, Subresource: "status"}: 1,
	}
	if diff := cmp.Diff(want, f.Counts()); diff != "" {
		t.Error(diff)
	}
	if n := len(f.Writes()); n != 8 {
		t.Errorf("there are %d writes, want 8: %v", n, f.Writes())
	}
	if got := f.Calls()[0].String(); got != "create ConfigMap "+ns+"/m" {
		t.Errorf("the first call is %q", got)
	}
	f.Reset()
	if n := len(f.Calls()); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// TestFreeze: reads are of an earlier moment, writes and other clients of now.
func TestFreeze(t *testing.T) {
	below, ns := direct(t)
	_, other := direct(t)
	f := faults.New()
	c := f.Client(below, "cached")
	for _, m := range []*corev1.ConfigMap{configMap(ns, "a", "old"), configMap(ns, "b", "old"), configMap(other, "a", "else")} {
		if err := c.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Freeze(t.Context(), &corev1.ConfigMapList{}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		c.Update(t.Context(), configMap(ns, "a", "new")), c.Delete(t.Context(), configMap(ns, "b", "")), c.Create(t.Context(), configMap(ns, "c", "new")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	names := func(r client.Reader, opts ...client.ListOption) []string {
		l := &corev1.ConfigMapList{}
		if err := r.List(t.Context(), l, opts...); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range l.Items {
			out = append(out, m.Name+"="+m.Data["value"])
		}
		return out
	}
	if err := c.IndexField(t.Context(), &corev1.ConfigMap{}, "value", func(o client.Object) []string { return []string{o.(*corev1.ConfigMap).Data["value"]} }); err != nil {
		t.Fatal(err)
	}
	in := client.InNamespace(ns)
	for name, tc := range map[string]struct {
		reader client.Reader
		opts   []client.ListOption
		want   []string
	}{
		"namespace": {c, []client.ListOption{in}, []string{"a=old", "b=old"}},
		"labels":    {c, []client.ListOption{in, client.MatchingLabels{"value": "new"}}, nil},
		"name":      {c, []client.ListOption{in, client.MatchingFields{"metadata.name": "b"}}, []string{"b=old"}},
		"index":     {c, []client.ListOption{client.MatchingFields{"value": "else"}}, []string{"a=else"}},
		"other":     {below, []client.ListOption{in}, []string{"a=new", "c=new"}},
	} {
		if diff := cmp.Diff(tc.want, names(tc.reader, tc.opts...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := valueOf(t, c, ns, "a") + valueOf(t, c, ns, "c"); got != "old-" {
		t.Errorf("got %s", got)
	}
	meta := &metav1.PartialObjectMetadataList{}
	meta.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	if err := c.List(t.Context(), meta, in); err != nil || len(meta.Items) != 2 || meta.Items[0].Labels["value"] != "old" {
		t.Errorf("metadata: %v, %v", meta.Items, err)
	}
	if err := c.List(t.Context(), &corev1.ConfigMapList{}, client.MatchingFields{"data": "x"}); err == nil {
		t.Error("a field without an index: no error")
	}
	if calls := f.Calls(); calls[len(calls)-1].Reached {
		t.Error("a frozen read reached the client below")
	}
	c.Thaw()
	if diff := cmp.Diff([]string{"a=new", "c=new"}, names(c, in)); diff != "" {
		t.Error(diff)
	}
}
