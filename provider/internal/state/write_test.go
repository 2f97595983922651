package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// stored lists what a state has in the cluster.
func stored(t testing.TB, s *Store, k Key) objects {
	t.Helper()
	o, err := s.objects(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// tidy checks that a state is stored as a stock client would: parts in their places and nothing else.
func tidy(t testing.TB, s *Store, k Key, want []byte) {
	t.Helper()
	o := stored(t, s, k)
	if len(o.staged) > 0 || len(o.odd) > 0 {
		t.Errorf("%d staged and %d odd Secrets are left", len(o.staged), len(o.odd))
	}
	var gz []byte
	for i, p := range o.parts {
		if p == nil {
			t.Fatalf("part %d is missing", i)
		}
		gz = append(gz, p.Data[secretKey]...)
	}
	raw, used, err := decompress(gz)
	if err != nil || used != len(gz) || !bytes.Equal(raw, want) {
		t.Errorf("the parts do not join to the state: %d of %d bytes used, %v", used, len(gz), err)
	}
}

// TestLayout pins what is on the objects (B-401..B-403).
func TestLayout(t *testing.T) {
	s, k := newStore(t), newKey(t)
	mustWrite(t, s, k, parts(t, 1, 3))
	o := stored(t, s, k)
	if len(o.parts) != 3 {
		t.Fatalf("%d parts, want 3", len(o.parts))
	}
	for i, p := range o.parts {
		want := "tfstate-default-" + k.Suffix
		if i > 0 {
			want += fmt.Sprintf("-part-%d", i)
		}
		if p.Name != want || p.Annotations["encoding"] != "gzip" || p.Type != corev1.SecretTypeOpaque {
			t.Errorf("part %d: %s, type %s, annotations %v", i, p.Name, p.Type, p.Annotations)
		}
		for key, value := range map[string]string{
			"tfstate": "true", "tfstateSecretSuffix": k.Suffix, "tfstateWorkspace": "default", "app.kubernetes.io/managed-by": "terraform",
			"captf.infrastructure.cluster.x-k8s.io/owner-kind": "TerraformCluster", "captf.infrastructure.cluster.x-k8s.io/owner-name": "prod",
			"cluster.x-k8s.io/cluster-name": "prod", "captf.io/managed": "true", "clusterctl.cluster.x-k8s.io/move": "",
		} {
			if got, ok := p.Labels[key]; !ok || got != value {
				t.Errorf("part %d: label %s is %q, want %q", i, key, got, value)
			}
		}
	}
	st := mustRead(t, s, k)
	if st.Serial != 1 || st.Lineage != lineage || st.Resources != 1 || st.Parts != 3 || st.Interrupted || len(st.Outputs) != 1 {
		t.Errorf("read %+v", st)
	}
	tidy(t, s, k, parts(t, 1, 3))
}

// TestWriteKeeps keeps what others wrote on the Secrets.
func TestWriteKeeps(t *testing.T) {
	s, k := newStore(t), newKey(t)
	mustWrite(t, s, k, parts(t, 1, 1))
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	hash, image := "h2:00", "registry.example/m:v1"
	if changed, err := s.Adopt(t.Context(), k, owner, Marks{InputsHash: &hash, Image: &image}); err != nil || !changed {
		t.Fatalf("adopting: %v, %v", changed, err)
	}
	mustWrite(t, s, k, parts(t, 2, 3))
	if st := mustRead(t, s, k); st.InputsHash != hash || st.Image != image {
		t.Errorf("the marks are %q and %q", st.InputsHash, st.Image)
	}
	for _, p := range stored(t, s, k).parts {
		if len(p.OwnerReferences) != 1 || p.OwnerReferences[0].UID != "1" {
			t.Errorf("%s has the owners %v", p.Name, p.OwnerReferences)
		}
	}
}

// TestCrash lets a writer die before, and after, each of its writes, for every change of the number of parts: a reader sees
// the old version or the new one, and writing again ends in the new one.
func TestCrash(t *testing.T) {
	s := newStore(t)
	for from, targets := range [][]int{{1, 3}, {1, 3}, {3}, {1, 2, 3}} {
		for _, to := range targets {
			t.Run(fmt.Sprintf("%d to %d parts", from, to), func(t *testing.T) {
				was, is := parts(t, 1, max(1, from)), parts(t, 2, to)
				for at := 1; ; at++ {
					done := true
					for _, after := range []bool{false, true} {
						k := newKey(t)
						if from > 0 {
							mustWrite(t, s, k, was)
						}
						dying := *s
						c := &crash{Writer: s.Writer, at: at, after: after}
						dying.Writer = c
						_, err := dying.Write(t.Context(), k, is, WriteOptions{Backups: 2})
						if err == nil {
							if c.n >= at {
								t.Fatalf("write %d failed unnoticed", at)
							}
							continue
						}
						done = false
						if !errors.Is(err, errCrash) {
							t.Fatal(err)
						}
						at := fmt.Sprintf("write %d, after=%v", at, after)
						st, err := s.Read(t.Context(), k)
						switch {
						case from == 0 && errors.Is(err, ErrNotFound):
						case err != nil:
							t.Fatalf("%s: %v", at, err)
						case from == 0 && st.Serial != 2, st.Serial != 1 && st.Serial != 2:
							t.Fatalf("%s: read serial %d", at, st.Serial)
						}
						stockReadable(t, s, k, from, to, at)
						if _, err := s.Write(t.Context(), k, is, WriteOptions{Backups: 2}); err != nil {
							t.Fatalf("%s: writing again: %v", at, err)
						}
						tidy(t, s, k, is)
						if from == 0 {
							continue
						}
						if sets, err := s.Backups(t.Context(), k); err != nil || len(sets) != 1 || !sets[0].Complete || sets[0].Serial != 1 {
							t.Fatalf("%s: backups %+v, %v", at, sets, err)
						}
					}
					if done {
						return
					}
				}
			})
		}
	}
}

// stockReadable checks that after a crash between versions of which one is a single Secret, or none, the plain reading of
// the base Secret (OpenTofu) and of all parts (Terraform) gives a version too.
func stockReadable(t *testing.T, s *Store, k Key, from, to int, at string) {
	t.Helper()
	o := stored(t, s, k)
	if len(o.parts) == 0 {
		return
	}
	if from == 1 || to == 1 {
		var gz []byte
		for _, p := range o.parts {
			gz = append(gz, p.Data[secretKey]...)
		}
		if _, _, err := decompress(gz); err != nil {
			t.Errorf("%s: Terraform cannot read the parts: %v", at, err)
		}
	}
	if from <= 1 && to == 1 {
		if _, _, err := decompress(o.parts[0].Data[secretKey]); err != nil {
			t.Errorf("%s: OpenTofu cannot read the base Secret: %v", at, err)
		}
	}
}

// TestRepair ends a write that died as soon as its version was the current one.
func TestRepair(t *testing.T) {
	s, k := newStore(t), newKey(t)
	if did, err := s.Repair(t.Context(), k); did || err != nil {
		t.Fatalf("repairing nothing: %v, %v", did, err)
	}
	mustWrite(t, s, k, parts(t, 1, 3))
	dying := *s
	dying.Writer = &crash{Writer: s.Writer, at: 4} // two staged parts, the base, then the first place
	if _, err := dying.Write(t.Context(), k, parts(t, 2, 3), WriteOptions{}); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if st := mustRead(t, s, k); st.Serial != 2 || !st.Interrupted {
		t.Fatalf("read %+v", st)
	}
	if did, err := s.Repair(t.Context(), k); !did || err != nil {
		t.Fatalf("repairing: %v, %v", did, err)
	}
	tidy(t, s, k, parts(t, 2, 3))
	if did, err := s.Repair(t.Context(), k); did || err != nil {
		t.Errorf("repairing again: %v, %v", did, err)
	}
}

// TestTwoWriters lets one writer do all of its work before each write of another, whose lock was lost without its
// knowledge: one of them may fail, and what is there is a version of one of them.
func TestTwoWriters(t *testing.T) {
	s := newStore(t)
	for _, from := range []int{0, 1, 3} {
		for _, to := range []int{1, 3} {
			for _, other := range []int{1, 2} {
				t.Run(fmt.Sprintf("%d to %d against %d parts", from, to, other), func(t *testing.T) {
					for at := 1; ; at++ {
						k := newKey(t)
						if from > 0 {
							mustWrite(t, s, k, parts(t, 1, from))
						}
						slow := *s
						var second error
						p := &pause{Writer: s.Writer, at: at, what: func() {
							_, second = s.Write(t.Context(), k, parts(t, 3, other), WriteOptions{})
							if second != nil && !errors.Is(second, ErrConflict) {
								t.Fatalf("write %d: the other: %v", at, second)
							}
						}}
						slow.Writer = p
						_, first := slow.Write(t.Context(), k, parts(t, 2, to), WriteOptions{})
						if first != nil && !errors.Is(first, ErrConflict) && !errors.Is(first, ErrRefused) {
							t.Fatalf("write %d: %v", at, first)
						}
						if first != nil && second != nil {
							t.Fatalf("write %d: both failed: %v; %v", at, first, second)
						}
						st := mustRead(t, s, k)
						if second == nil && p.n >= at && first != nil && st.Serial != 3 {
							t.Fatalf("write %d: the other succeeded, but serial %d is there (%v)", at, st.Serial, first)
						}
						if _, err := s.Write(t.Context(), k, parts(t, 4, to), WriteOptions{}); err != nil {
							t.Fatalf("write %d: writing on: %v", at, err)
						}
						tidy(t, s, k, parts(t, 4, to))
						if p.n < at {
							return
						}
					}
				})
			}
		}
	}
}

// TestRepairAgainstWriter lets somebody repair before each write of a writer that found something to clean up.
func TestRepairAgainstWriter(t *testing.T) {
	s := newStore(t)
	for at := 1; ; at++ {
		k := newKey(t)
		mustWrite(t, s, k, parts(t, 1, 3))
		dying := *s
		dying.Writer = &crash{Writer: s.Writer, at: 2}
		if _, err := dying.Write(t.Context(), k, parts(t, 2, 3), WriteOptions{}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		slow := *s
		p := &pause{Writer: s.Writer, at: at, what: func() {
			if _, err := s.Repair(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}}
		slow.Writer = p
		_, err := slow.Write(t.Context(), k, parts(t, 2, 3), WriteOptions{})
		if err != nil && !errors.Is(err, ErrConflict) {
			t.Fatalf("write %d: %v", at, err)
		}
		if st := mustRead(t, s, k); st.Serial == 0 || err == nil && st.Serial != 2 {
			t.Fatalf("write %d: serial %d, %v", at, st.Serial, err)
		}
		mustWrite(t, s, k, parts(t, 2, 3))
		tidy(t, s, k, parts(t, 2, 3))
		if p.n < at {
			return
		}
	}
}

// TestGuards refuses what is not a newer version of the same state.
func TestGuards(t *testing.T) {
	s, k := newStore(t), newKey(t)
	const secret = "canary-in-the-state"
	doc := func(serial int, lineage, value string) []byte {
		return fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":%q,"outputs":{"o":{"value":%q,"type":"string"}},"resources":[]}`, serial, lineage, value)
	}
	mustWrite(t, s, k, doc(5, lineage, secret))
	for name, test := range map[string]struct {
		raw  []byte
		want error
	}{
		"lower serial":           {doc(4, lineage, secret), ErrRefused},
		"other lineage":          {doc(6, "other", secret), ErrRefused},
		"same serial, different": {doc(5, lineage, secret+"2"), ErrRefused},
		"no lineage":             {doc(6, "", secret), ErrInvalid},
		"no JSON":                {[]byte(`{"a": ` + secret), ErrInvalid},
		"other version":          {[]byte(`{"version":3,"serial":6,"lineage":"` + lineage + `"}`), ErrInvalid},
		"encrypted":              {[]byte(`{"encryption_version":"v0","encrypted_data":"` + secret + `"}`), ErrInvalid},
		"too large":              {make([]byte, MaxBytes+1), ErrTooLarge},
		"too many parts":         {document4(t, 6, (MaxParts+1)*smallPart), ErrTooLarge},
		"the repeat of the last": {doc(5, lineage, secret), nil},
		"a newer one":            {doc(6, lineage, secret), nil},
		"a jump":                 {doc(60, lineage, secret), nil},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKey(t)
			mustWrite(t, s, k, doc(5, lineage, secret))
			before := stored(t, s, k).parts[0].ResourceVersion
			_, err := s.Write(t.Context(), k, test.raw, WriteOptions{Backups: 1})
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the state: %v", err)
			}
			if after := stored(t, s, k).parts[0].ResourceVersion; (err != nil || name == "the repeat of the last") && before != after {
				t.Error("the Secret was written")
			}
		})
	}
	if _, err := s.Write(t.Context(), k, doc(1, "other", "x"), WriteOptions{Force: true}); err != nil {
		t.Fatalf("forcing: %v", err)
	}
	if st := mustRead(t, s, k); st.Serial != 1 || st.Lineage != "other" {
		t.Errorf("read %+v after a forced write", st)
	}
	lost := errors.New("lost")
	if _, err := s.Write(t.Context(), k, doc(2, "other", "x"), WriteOptions{Check: func(context.Context) error { return lost }}); !errors.Is(err, lost) {
		t.Errorf("the check was not heard: %v", err)
	}
	if st := mustRead(t, s, k); st.Serial != 1 {
		t.Errorf("serial %d was written against the check", st.Serial)
	}
}

// TestForceOverUnreadable is the way out of each kind of unreadable state; nothing that is not ours is deleted.
func TestForceOverUnreadable(t *testing.T) {
	s := newStore(t)
	for name, damage := range map[string]func(t *testing.T, k Key, o objects){
		"garbage": func(t *testing.T, _ Key, o objects) {
			o.parts[0].Data[secretKey] = []byte("garbage")
			update(t, s, o.parts[0])
		},
		"no key": func(t *testing.T, _ Key, o objects) {
			o.parts[0].Data = nil
			update(t, s, o.parts[0])
		},
		"a gap": func(t *testing.T, _ Key, o objects) {
			if err := s.Writer.Delete(t.Context(), o.parts[1]); err != nil {
				t.Fatal(err)
			}
		},
		"no base": func(t *testing.T, _ Key, o objects) {
			if err := s.Writer.Delete(t.Context(), o.parts[0]); err != nil {
				t.Fatal(err)
			}
		},
		"an odd one": func(t *testing.T, k Key, _ objects) {
			odd := k.newSecret("odd-"+k.Suffix, nil, mark{}, []byte("precious"))
			if err := s.Writer.Create(t.Context(), odd); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKey(t)
			mustWrite(t, s, k, parts(t, 1, 3))
			damage(t, k, stored(t, s, k))
			var unreadable *Unreadable
			if _, err := s.Write(t.Context(), k, parts(t, 2, 2), WriteOptions{}); !errors.As(err, &unreadable) {
				t.Fatalf("writing over it: %v", err)
			}
			if _, err := s.Write(t.Context(), k, parts(t, 2, 2), WriteOptions{Force: true, Backups: 3}); err != nil {
				t.Fatal(err)
			}
			tidy(t, s, k, parts(t, 2, 2))
			if name != "an odd one" {
				return
			}
			var odd corev1.Secret
			if err := s.Live.Get(t.Context(), client.ObjectKey{Namespace: k.Namespace, Name: "odd-" + k.Suffix}, &odd); err != nil {
				t.Fatal(err)
			}
			if string(odd.Data[secretKey]) != "precious" {
				t.Error("the odd Secret lost its content")
			}
		})
	}
}

func update(t *testing.T, s *Store, secret *corev1.Secret) {
	t.Helper()
	if err := s.Writer.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// TestDelete removes the parts from the highest down, the base Secret last, and what a write left behind; it can be ended
// after a crash.
func TestDelete(t *testing.T) {
	s := newStore(t)
	for at := 1; ; at++ {
		k := newKey(t)
		mustWrite(t, s, k, parts(t, 1, 3))
		dying := *s
		dying.Writer = &crash{Writer: s.Writer, at: 2}
		if _, err := dying.Write(t.Context(), k, parts(t, 2, 3), WriteOptions{Backups: 1}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		dying.Writer = &crash{Writer: s.Writer, at: at}
		err := dying.Delete(t.Context(), k)
		if err != nil && !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		left := stored(t, s, k)
		if err != nil && (len(left.parts) == 0 || left.parts[0] == nil) {
			t.Fatalf("delete %d: the base Secret went before the end", at)
		}
		for i, p := range left.parts {
			if p == nil {
				t.Fatalf("delete %d: part %d went before a higher one", at, i)
			}
		}
		if err := s.Delete(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if left := stored(t, s, k); left.count()+len(left.staged) > 0 {
			t.Fatalf("delete %d: something is left", at)
		}
		if _, err := s.Read(t.Context(), k); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		if err == nil {
			return
		}
	}
}

// TestForeign reads what a stock client wrote over a state of ours: it changes the data and leaves our annotations.
func TestForeign(t *testing.T) {
	s := newStore(t)
	for from := 1; from < 4; from++ {
		for to := 1; to < 4; to++ {
			t.Run(fmt.Sprintf("%d to %d parts", from, to), func(t *testing.T) {
				k := newKey(t)
				mustWrite(t, s, k, parts(t, 1, from))
				raw := parts(t, 2, to)
				stockWrite(t, s, k, raw)
				if st := mustRead(t, s, k); st.Serial != 2 || st.Parts != to {
					t.Errorf("read %+v", st)
				}
				mustWrite(t, s, k, parts(t, 3, from))
				tidy(t, s, k, parts(t, 3, from))
			})
		}
	}
}

// stockWrite writes as Terraform's kubernetes backend does.
func stockWrite(t *testing.T, s *Store, k Key, raw []byte) {
	t.Helper()
	gz, err := compress(raw)
	if err != nil {
		t.Fatal(err)
	}
	old := stored(t, s, k).parts
	chunks := s.split(gz)
	for i, chunk := range chunks {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret(i), Labels: k.secretLabels()}}
		if i < len(old) {
			secret = old[i]
		} else if err := s.Writer.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		secret.Data = map[string][]byte{secretKey: chunk}
		update(t, s, secret)
	}
	for i := len(chunks); i < len(old); i++ {
		if err := s.Writer.Delete(t.Context(), old[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadable tells corrupt, encrypted and inconsistent states apart, says what to do, and quotes nothing.
func TestUnreadable(t *testing.T) {
	s := newStore(t)
	const secret = "canary-in-the-state"
	gz := func(text string) []byte {
		raw, err := compress([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	good := gz(`{"version":4,"serial":1,"lineage":"l","x":"` + secret + `"}`)
	for name, test := range map[string]struct {
		secrets map[string][]byte // nil data has no key
		reason  string
		says    string
	}{
		"empty":           {map[string][]byte{"": {}}, infrav1.StateCorruptReason, "gzip"},
		"not gzip":        {map[string][]byte{"": []byte(secret)}, infrav1.StateCorruptReason, "gzip"},
		"truncated":       {map[string][]byte{"": good[:len(good)-9]}, infrav1.StateCorruptReason, "gzip"},
		"damaged":         {map[string][]byte{"": append(bytes.Clone(good[:len(good)-5]), 1, 2, 3, 4, 5)}, infrav1.StateCorruptReason, "gzip"},
		"not JSON":        {map[string][]byte{"": gz(secret)}, infrav1.StateCorruptReason, "JSON"},
		"not a state":     {map[string][]byte{"": gz(`["` + secret + `"]`)}, infrav1.StateCorruptReason, "JSON object"},
		"no version":      {map[string][]byte{"": gz(`{"a":"` + secret + `"}`)}, infrav1.StateCorruptReason, "no format version"},
		"version 3":       {map[string][]byte{"": gz(`{"version":3,"a":"` + secret + `"}`)}, infrav1.StateCorruptReason, "version 3"},
		"odd types":       {map[string][]byte{"": gz(`{"version":4,"serial":"` + secret + `"}`)}, infrav1.StateCorruptReason, `"serial" is not`},
		"a bomb":          {map[string][]byte{"": gz(strings.Repeat(" ", MaxBytes+1))}, infrav1.StateCorruptReason, "67108864"},
		"encrypted":       {map[string][]byte{"": gz(`{"serial":1,"lineage":"l","meta":{"k":"` + secret + `"},"encrypted_data":"x","encryption_version":"v0"}`)}, infrav1.StateEncryptedReason, "encryption"},
		"encrypted, only": {map[string][]byte{"": gz(`{"version":"x","encryption_version":"v0"}`)}, infrav1.StateEncryptedReason, "encryption"},
		"gap":             {map[string][]byte{"": good, "-part-2": {1}}, infrav1.StateInconsistentReason, "part 1"},
		"no base":         {map[string][]byte{"-part-1": good}, infrav1.StateInconsistentReason, "part 0"},
		"odd name":        {map[string][]byte{"": good, "-part-01": {1}}, infrav1.StateInconsistentReason, "-part-01"},
		"odd name 2":      {map[string][]byte{"": good, "-part-x": {1}}, infrav1.StateInconsistentReason, "-part-x"},
		"no key":          {map[string][]byte{"": nil}, infrav1.StateInconsistentReason, "no key"},
		"no key in part":  {map[string][]byte{"": good, "-part-1": nil}, infrav1.StateInconsistentReason, "no key"},
		"leftover":        {map[string][]byte{"": good, "-part-1": {1, 2}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKey(t)
			for suffix, data := range test.secrets {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret(0) + suffix, Labels: k.stock()}}
				if data != nil {
					secret.Data = map[string][]byte{secretKey: data}
				}
				if err := s.Writer.Create(t.Context(), secret); err != nil {
					t.Fatal(err)
				}
			}
			st, err := s.Read(t.Context(), k)
			if test.reason == "" {
				if err != nil || st.Serial != 1 || st.Parts != 1 || !st.Interrupted {
					t.Fatalf("read %+v, %v", st, err)
				}
				return
			}
			var unreadable *Unreadable
			if !errors.As(err, &unreadable) {
				t.Fatalf("got %v", err)
			}
			if unreadable.Reason != test.reason || !strings.Contains(unreadable.Message, test.says) {
				t.Errorf("got %s: %s", unreadable.Reason, unreadable.Message)
			}
			if strings.Contains(unreadable.Message, secret) {
				t.Errorf("the message quotes the state: %s", unreadable.Message)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		k := newKey(t)
		for i := range MaxParts + 1 {
			secret := k.newSecret(k.Secret(i), nil, mark{}, []byte{1})
			if err := s.Writer.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		var unreadable *Unreadable
		if _, err := s.Read(t.Context(), k); !errors.As(err, &unreadable) || unreadable.Reason != infrav1.StateCorruptReason {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a mix", func(t *testing.T) {
		k := newKey(t)
		mustWrite(t, s, k, parts(t, 1, 3))
		dying := *s
		dying.Writer = &crash{Writer: s.Writer, at: 4}
		if _, err := dying.Write(t.Context(), k, parts(t, 2, 3), WriteOptions{}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		for _, staged := range stored(t, s, k).staged { // somebody tidies up by hand
			if err := s.Writer.Delete(t.Context(), staged); err != nil {
				t.Fatal(err)
			}
		}
		var unreadable *Unreadable
		if _, err := s.Read(t.Context(), k); !errors.As(err, &unreadable) || unreadable.Reason != infrav1.StateInconsistentReason {
			t.Errorf("got %v", err)
		}
	})
}
