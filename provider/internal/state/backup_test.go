package state

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// describe names sets by serial, with a ! for an incomplete one.
func describe(sets []Backup) []string {
	var all []string
	for _, b := range sets {
		d := strconv.FormatUint(b.Serial, 10)
		if !b.Complete {
			d += "!"
		}
		all = append(all, d)
	}
	return all
}

// TestBackups writes versions and looks at what is kept (B-450..B-455).
func TestBackups(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	clk := clocktesting.NewFakePassiveClock(epoch)
	s.Clock = clk
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	options := WriteOptions{Backups: 3, Job: "job-1", Owner: &owner}
	hash := "h2:00"
	var texts []string
	for serial := range uint64(6) {
		raw := parts(t, serial, 1+int(serial)%3)
		texts = append(texts, string(raw))
		if _, err := s.Write(ctx, k, raw, options); err != nil {
			t.Fatal(err)
		}
		if serial == 3 {
			if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash}); err != nil {
				t.Fatal(err)
			}
		}
		clk.SetTime(clk.Now().Add(time.Second))
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4", "3", "2"}, describe(sets)); diff != "" { // serial 0 is never kept
		t.Fatal(diff)
	}
	b := sets[0]
	if b.Lineage != lineage || b.Job != "job-1" || b.Resources != 1 || b.InputsHash != hash || len(b.Secrets) != 2 || !b.TakenAt.Equal(epoch.Add(5*time.Second)) {
		t.Errorf("backup %+v", b)
	}
	var gz []byte
	for i, name := range b.Secrets {
		want := "captf-state-backup-" + k.Suffix + "-4"
		if i > 0 {
			want += "-part-1"
		}
		var secret corev1.Secret
		if err := s.Live.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: name}, &secret); err != nil {
			t.Fatal(err)
		}
		if name != want || secret.Labels["captf.io/state-backup"] != "true" || secret.Labels["captf.io/state-backup-suffix"] != k.Suffix ||
			secret.Labels["captf.io/managed"] != "true" || secret.Labels["tfstate"] != "" || len(secret.OwnerReferences) != 1 ||
			secret.Annotations["captf.io/state-backup-serial"] != "4" || secret.Annotations["captf.io/state-backup-chunks"] != "2" {
			t.Errorf("%s: labels %v, annotations %v, owners %v", name, secret.Labels, secret.Annotations, secret.OwnerReferences)
		}
		gz = append(gz, secret.Data["tfstate"]...)
	}
	if raw, _, err := decompress(gz); err != nil || string(raw) != texts[4] || int64(len(gz)) != b.Bytes {
		t.Errorf("the backup is not the state: %v", err)
	}

	// The newest has none yet (B-450: the manager adds one).
	for _, want := range []bool{true, false} {
		if took, err := s.Backup(ctx, k, BackupOptions{Job: "job-2"}); err != nil || took != want {
			t.Fatalf("took a backup: %v, %v", took, err)
		}
	}
	// An incomplete set is the newest of all: it may be in the making. A pinned set neither goes nor counts.
	if sets, err = s.Backups(ctx, k); err != nil {
		t.Fatal(err)
	}
	part := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: sets[0].Secrets[2]}}
	if err := s.Writer.Delete(ctx, part); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(ctx, k, 1, sets[3].Set); err != nil {
		t.Fatal(err)
	}
	if sets, err = s.Backups(ctx, k); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"5!", "4", "2"}, describe(sets)); diff != "" {
		t.Fatal(diff)
	}
	// Taking it again completes it.
	if took, err := s.Backup(ctx, k, BackupOptions{}); err != nil || !took {
		t.Fatalf("took a backup: %v, %v", took, err)
	}
	if err := s.Prune(ctx, k, 0); err != nil {
		t.Fatal(err)
	}
	if sets, err = s.Backups(ctx, k); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"5", "4", "2"}, describe(sets)); diff != "" {
		t.Error(diff)
	}

	// The same serial with another content is kept beside.
	if _, err := s.Write(ctx, k, document4(t, 5, 333), WriteOptions{Force: true, Backups: 9}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(ctx, k, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if sets, err = s.Backups(ctx, k); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(sets, func(b Backup) bool {
		return b.Set == "captf-state-backup-"+k.Suffix+"-5-"+b.Digest[:8] && b.Complete
	}) {
		t.Errorf("sets %+v", sets)
	}

	// After a move the owner has another UID.
	owner.UID = "2"
	secrets := 1 // the state itself
	for _, b := range sets {
		secrets += len(b.Secrets)
	}
	if n, err := s.RepairOwners(ctx, k, owner); err != nil || n != secrets {
		t.Errorf("repaired %d owners, want %d: %v", n, secrets, err)
	}
	if n, err := s.RepairOwners(ctx, k, owner); err != nil || n != 0 {
		t.Errorf("repaired %d owners again, %v", n, err)
	}
	if err := s.Delete(ctx, k); err != nil {
		t.Fatal(err)
	}
	if took, err := s.Backup(ctx, k, BackupOptions{}); took || !errors.Is(err, ErrNotFound) {
		t.Errorf("a backup of nothing: %v, %v", took, err)
	}
}

// TestBackupsOfApplies writes as applies and checks do: a backup names the inputs that its version is of, and none where an
// apply stopped in between, whatever the state is marked with.
func TestBackupsOfApplies(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	clk := clocktesting.NewFakePassiveClock(epoch)
	s.Clock = clk
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	write := func(serial uint64, apply bool) {
		t.Helper()
		clk.SetTime(clk.Now().Add(time.Second))
		if _, err := s.Write(ctx, k, parts(t, serial, 1+int(serial)%2), WriteOptions{Backups: 9, Job: "job", Apply: apply, Owner: &owner}); err != nil {
			t.Fatal(err)
		}
	}
	succeeds := func(hash string) {
		t.Helper()
		image := "registry.test/" + hash
		if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash, Image: &image, Settled: true}); err != nil {
			t.Fatal(err)
		}
	}
	write(1, true)
	write(2, true)
	succeeds("one")
	write(3, false) // a check
	write(4, true)  // one that fails after two writes
	write(5, true)
	if st := mustRead(t, s, k); st.InputsHash != "one" {
		t.Errorf("in the middle of an apply the state is marked %q: it must be known to have been applied once", st.InputsHash)
	}
	write(6, false) // a check of what it left
	if took, err := s.Backup(ctx, k, BackupOptions{}); err != nil || !took {
		t.Fatalf("took a backup: %v, %v", took, err)
	}
	succeeds("two") // without a change; the next write finds the backup unmarked
	write(7, true)
	succeeds("three")
	write(8, true)
	sets, err := s.Backups(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	for _, b := range sets {
		got[b.Serial] = b.InputsHash + " " + b.Image
	}
	want := map[uint64]string{
		1: " ", 2: "one registry.test/one", 3: "one registry.test/one", 4: " ", 5: " ", 6: "two registry.test/two", 7: "three registry.test/three",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backups name other inputs (-want +got)\n%s", diff)
	}

	// A hash of another scheme settles nothing.
	four := "four"
	if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &four}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(ctx, k, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if sets, err = s.Backups(ctx, k); err != nil || sets[0].Serial != 8 || sets[0].InputsHash != "" {
		t.Errorf("the newest backup is %+v, %v", sets[0], err)
	}
}

// TestBackupFirst writes nothing over a version that cannot be kept.
func TestBackupFirst(t *testing.T) {
	s, k := newStore(t), newKey(t)
	mustWrite(t, s, k, parts(t, 1, 2))
	dying := *s
	dying.Writer = &crash{Writer: s.Writer, at: 2}
	if _, err := dying.Write(t.Context(), k, parts(t, 2, 1), WriteOptions{Backups: 1}); !errors.Is(err, errCrash) || !strings.Contains(err.Error(), "backing up") {
		t.Fatal(err)
	}
	if st := mustRead(t, s, k); st.Serial != 1 || st.Interrupted {
		t.Errorf("read %+v", st)
	}
	if sets, err := s.Backups(t.Context(), k); err != nil || len(sets) != 1 || sets[0].Complete {
		t.Errorf("backups %+v, %v", sets, err)
	}
}

// TestSurplus holds B-454 against any list of sets.
func TestSurplus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "sets")
		keep := rapid.IntRange(1, 6).Draw(t, "keep")
		var sets []Backup
		var pinned []string
		for i := range n {
			b := Backup{Set: strconv.Itoa(i), Complete: rapid.Bool().Draw(t, "complete")}
			if rapid.IntRange(0, 4).Draw(t, "pinned") == 0 {
				pinned = append(pinned, b.Set)
			}
			sets = append(sets, b)
		}
		gone := map[string]bool{}
		for _, b := range surplus(sets, keep, pinned) {
			gone[b.Set] = true
		}
		kept := 0
		for i, b := range sets {
			switch {
			case slices.Contains(pinned, b.Set) && gone[b.Set]:
				t.Fatalf("the pinned set %s goes", b.Set)
			case slices.Contains(pinned, b.Set):
			case !b.Complete && gone[b.Set] != (i > 0):
				t.Fatalf("the incomplete set %s: gone=%v", b.Set, gone[b.Set])
			case b.Complete && !gone[b.Set]:
				kept++
			case b.Complete && kept < keep:
				t.Fatalf("set %s goes although only %d newer ones stay", b.Set, kept)
			}
		}
		if kept > keep {
			t.Fatalf("%d sets stay, more than %d", kept, keep)
		}
	})
}

// TestGather does not fall for damaged annotations.
func TestGather(t *testing.T) {
	meta := func(name, set, digest, chunk, chunks string) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			backupSet: set, backupDigest: digest, backupChunk: chunk, backupChunks: chunks, backupSerial: "1", backupTakenAt: "x",
		}}}
	}
	for name, test := range map[string]struct {
		list []metav1.PartialObjectMetadata
		want []string
	}{
		"complete":        {[]metav1.PartialObjectMetadata{meta("a-part-1", "a", "d", "1", "2"), meta("a", "a", "d", "0", "2")}, []string{"1"}},
		"one missing":     {[]metav1.PartialObjectMetadata{meta("a-part-1", "a", "d", "1", "2")}, []string{"1!"}},
		"other content":   {[]metav1.PartialObjectMetadata{meta("a-part-1", "a", "e", "1", "2"), meta("a", "a", "d", "0", "2")}, []string{"1!"}},
		"too many":        {[]metav1.PartialObjectMetadata{meta("a", "a", "d", "0", "1"), meta("b", "a", "d", "0", "1")}, []string{"1!"}},
		"no annotations":  {[]metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, []string{"0!"}},
		"negative":        {[]metav1.PartialObjectMetadata{meta("a", "a", "d", "0", "-1")}, []string{"1!"}},
		"too many chunks": {[]metav1.PartialObjectMetadata{meta("a", "a", "d", "0", "33")}, []string{"1!"}},
	} {
		if diff := cmp.Diff(test.want, describe(Gather(test.list))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestAdopt is B-412 and B-413.
func TestAdopt(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1", Controller: new(bool), BlockOwnerDeletion: new(bool)}
	text := func(s string) *string { return &s }
	if changed, err := s.Adopt(ctx, k, owner, Marks{}); changed || !errors.Is(err, ErrNotFound) {
		t.Fatalf("adopting nothing: %v, %v", changed, err)
	}
	mustWrite(t, s, k, parts(t, 1, 2))
	for i, step := range []struct {
		marks       Marks
		changed     bool
		hash, image string
	}{
		{Marks{}, true, "", ""},
		{Marks{}, false, "", ""},
		{Marks{InputsHash: text("h"), Image: text("i")}, true, "h", "i"},
		{Marks{InputsHash: text("h")}, false, "h", "i"},
		{Marks{InputsHash: text("h2"), Image: text("i")}, true, "h2", "i"},
		{Marks{InputsHash: text("")}, true, "", "i"},
		{Marks{InputsHash: text("")}, false, "", "i"},
	} {
		changed, err := s.Adopt(ctx, k, owner, step.marks)
		if err != nil || changed != step.changed {
			t.Errorf("step %d: changed=%v, %v", i, changed, err)
		}
		if st := mustRead(t, s, k); st.InputsHash != step.hash || st.Image != step.image {
			t.Errorf("step %d: %q and %q", i, st.InputsHash, st.Image)
		}
	}
	for _, p := range stored(t, s, k).parts {
		if r := p.OwnerReferences; len(r) != 1 || r[0].Controller != nil || r[0].BlockOwnerDeletion != nil {
			t.Errorf("%s: owners %v", p.Name, r)
		}
	}
}
