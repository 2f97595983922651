package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// TestPushAfterLoss pushes a file where the state is gone: what the state was marked with comes from its backups, or the
// user is told what is missing.
func TestPushAfterLoss(t *testing.T) {
	s, k, ctx := newStore(t), newMachineKey(t), t.Context()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	// Serial 2 was kept in the middle of the first apply; 3 and 7 are the ends of two.
	for serial, hash := range map[uint64]string{2: "", 3: "h2:three", 7: "h2:seven"} { // in any order
		image := strings.Replace(hash, "h2:", "registry.test/", 1)
		mustWrite(t, s, k, parts(t, serial, 2))
		if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash, Image: &image}); err != nil {
			t.Fatal(err)
		}
		if took, err := s.Backup(ctx, k, BackupOptions{}); err != nil || !took {
			t.Fatalf("took a backup of serial %d: %v, %v", serial, took, err)
		}
		if err := s.Delete(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	push := func(k Key, raw []byte, more ...string) (string, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.tfstate")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, log, err := command(t, append([]string{"push", "--kubeconfig", tools.Environment(t).KubeconfigFile(), "-n", k.Namespace, "--suffix", k.Suffix, path}, more...)...)
		return log, err
	}
	set := func(serial string) string { return "captf-state-backup-" + k.Suffix + "-" + serial }
	for name, test := range map[string]struct {
		raw         []byte
		hash, image string
		log         []string
	}{
		"a backup":          {parts(t, 7, 2), "h2:seven", "registry.test/seven", []string{"h2:seven, is that of backup " + set("7")}},
		"an older one":      {parts(t, 3, 2), "h2:three", "registry.test/three", []string{set("3")}},
		"between the two":   {parts(t, 5, 1), "h2:three", "registry.test/three", []string{set("3")}},
		"newer than all":    {parts(t, 9, 1), "h2:seven", "registry.test/seven", []string{set("7")}},
		"only read since":   {bytes.Replace(parts(t, 3, 2), []byte(`"serial":3`), []byte(`"serial":8,"check_results":null`), 1), "h2:three", "registry.test/three", []string{set("3")}},
		"not yet applied":   {parts(t, 2, 2), "", "", []string{"could not be recalled", set("2"), "kubectl annotate -n " + k.Namespace + " secret " + k.Secret(0)}},
		"older than all":    {parts(t, 1, 1), "", "", []string{"could not be recalled", "up to serial 1", "kubectl annotate"}},
		"of something else": {bytes.ReplaceAll(parts(t, 9, 1), []byte(lineage), []byte("other")), "", "", []string{"could not be recalled", "lineage other", "kubectl annotate"}},
	} {
		log, err := push(k, test.raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range test.log {
			if !strings.Contains(log, text) {
				t.Errorf("%s: the log does not have %q: %s", name, text, log)
			}
		}
		if st := mustRead(t, s, k); st.InputsHash != test.hash || st.Image != test.image {
			t.Errorf("%s: marked %q and %q, want %q and %q", name, st.InputsHash, st.Image, test.hash, test.image)
		}
		for _, p := range stored(t, s, k).parts {
			if diff := cmp.Diff(k.secretLabels(), p.Labels); diff != "" {
				t.Errorf("%s: labels of %s (-want +got)\n%s", name, p.Name, diff)
			}
		}
		if err := s.Delete(ctx, k); err != nil {
			t.Fatal(err)
		}
	}

	// What stored the file without marks is mended by storing it again; marks that are there stay.
	mustWrite(t, s, k, parts(t, 7, 2))
	for _, hash := range []string{"h2:seven", "h2:mine"} {
		if hash == "h2:mine" {
			if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash}); err != nil {
				t.Fatal(err)
			}
		}
		if log, err := push(k, parts(t, 7, 2)); err != nil || strings.Contains(log, "hash of the inputs") != (hash == "h2:seven") {
			t.Fatalf("%v: %s", err, log)
		}
		if st := mustRead(t, s, k); st.InputsHash != hash || st.Interrupted {
			t.Errorf("marked %q, want %q; interrupted: %v", st.InputsHash, hash, st.Interrupted)
		}
	}
	// The base Secret alone is gone.
	mustWrite(t, s, k, parts(t, 8, 2))
	if err := s.Writer.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret(0)}}); err != nil {
		t.Fatal(err)
	}
	if log, err := push(k, parts(t, 8, 2), "--force"); err != nil || mustRead(t, s, k).InputsHash != "h2:seven" {
		t.Errorf("%v: %s", err, log)
	}

	none := newMachineKey(t)
	if _, err := push(none, parts(t, 4, 1)); err == nil || !strings.Contains(err.Error(), "nor a backup") || !strings.Contains(err.Error(), "--label") {
		t.Errorf("without a backup: %v", err)
	}
	var labels []string
	for key, value := range none.Labels {
		labels = append(labels, "--label", key+"="+value)
	}
	if log, err := push(none, parts(t, 4, 1), labels...); err != nil || !strings.Contains(log, "there is no complete backup") {
		t.Errorf("without a backup: %v: %s", err, log)
	}
}

// TestPushAppliesAgain pushes states of an object that can be applied again: what is not the state that is there has no hash, so
// that no apply is kept back for one that is of other inputs.
func TestPushAppliesAgain(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	hash := "h2:seven"
	mark := func() {
		t.Helper()
		if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash}); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, s, k, parts(t, 7, 2))
	mark()
	if _, err := s.Backup(ctx, k, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		raw  []byte
		lost bool
		want string
	}{
		{name: "the same", raw: parts(t, 7, 2), want: hash},
		{name: "an older one", raw: parts(t, 6, 2)},
		{name: "a backup, after a loss", raw: parts(t, 7, 2), lost: true},
	} {
		if test.lost {
			if err := s.Delete(ctx, k); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "x.tfstate")
		if err := os.WriteFile(path, test.raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, log, err := command(t, "push", "--force", "--kubeconfig", tools.Environment(t).KubeconfigFile(), "-n", k.Namespace, "--suffix", k.Suffix, path)
		if err != nil || strings.Contains(log, "applied again") != (test.want == "") {
			t.Fatalf("%s: %v: %s", test.name, err, log)
		}
		if st := mustRead(t, s, k); st.InputsHash != test.want {
			t.Errorf("%s: marked %q, want %q", test.name, st.InputsHash, test.want)
		}
	}
}
