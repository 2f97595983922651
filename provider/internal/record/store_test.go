package record

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// TestWriteAttemptAgain writes the attempt of a Job that is made again under its name: what was noted since stays, and the
// credentials are those of the new one, since it may create something with them.
func TestWriteAttemptAgain(t *testing.T) {
	c, err := client.New(tools.Environment(t).Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, ctx := &Store{Writer: c, Live: c}, t.Context()
	o := Owner{
		Role: contract.RoleCluster, Namespace: tools.Namespace(t), Name: "prod", Cluster: "prod",
		Reference: metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"},
	}
	r := Record{Job: "apply-1", InputsHash: "h2:a", Identity: "staging", IdentityKind: infrav1.IdentityKindClusterIdentity, Root: []byte("{}"), Values: []byte("{}")}
	write := func(r Record) Record {
		t.Helper()
		if err := s.WriteAttempt(ctx, o, r); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, o.Namespace, o.AttemptName())
		if err != nil || got == nil {
			t.Fatalf("the record is %v: %v", got, err)
		}
		return *got
	}
	write(r)
	if err := s.Mark(ctx, o, false, func(r *Record) { r.MayHaveApplied = true }); err != nil {
		t.Fatal(err)
	}
	if got := write(r); !got.MayHaveApplied || got.Identity != "staging" {
		t.Errorf("the same again: %+v", got)
	}
	r.Identity = "prod"
	if got := write(r); !got.MayHaveApplied || got.Identity != "prod" || string(got.Root) != "{}" {
		t.Errorf("with other credentials: %+v", got)
	}
	testOwn(ctx, t, s, c, o)
}

// testOwn takes the owner of a record away, and gives it back.
func testOwn(ctx context.Context, t *testing.T, s *Store, c client.Client, o Owner) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.AttemptName()}}
	for _, managed := range []bool{true, false} {
		if err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Fatal(err)
		}
		secret.OwnerReferences = nil
		if !managed {
			delete(secret.Labels, infrav1.LabelManaged)
		}
		if err := c.Update(ctx, secret); err != nil {
			t.Fatal(err)
		}
		if err := s.Own(ctx, o, secret.Name); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Fatal(err)
		}
		if (len(secret.OwnerReferences) == 1) != managed {
			t.Errorf("managed %v: the owners are %v", managed, secret.OwnerReferences)
		}
	}
	if err := s.Own(ctx, o, "nothing"); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}
