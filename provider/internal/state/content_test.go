package state

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestContent compares states with one of serial 1.
func TestContent(t *testing.T) {
	const one = `{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed"}],"check_results":null}`
	for name, test := range map[string]struct {
		raw  string
		same bool
	}{
		"itself":           {one, true},
		"a later serial":   {`{"version":4,"serial":2,"lineage":"l","outputs":{},"resources":[{"mode":"managed"}],"check_results":null}`, true},
		"checked":          {`{"version":4,"serial":2,"lineage":"l","outputs":{},"resources":[{"mode":"managed"}],"check_results":[{"status":"pass"}]}`, true},
		"never checked":    {`{"version":4,"serial":2,"lineage":"l","outputs":{},"resources":[{"mode":"managed"}]}`, true},
		"other spaces":     {`{ "serial": 1, "lineage": "l", "version": 4, "outputs": { }, "resources": [ {"mode": "managed"} ] }`, true},
		"another output":   {`{"version":4,"serial":1,"lineage":"l","outputs":{"a":{"value":1}},"resources":[{"mode":"managed"}]}`, false},
		"another resource": {`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"data"}]}`, false},
		"a serial within":  {`{"version":4,"serial":1,"lineage":"l","outputs":{"serial":1},"resources":[{"mode":"managed"}]}`, false},
		"another lineage":  {`{"version":4,"serial":1,"lineage":"m","outputs":{},"resources":[{"mode":"managed"}]}`, false},
		"nothing":          {`{}`, false},
	} {
		if same := content([]byte(test.raw)) == content([]byte(one)); same != test.same {
			t.Errorf("%s: the same content: %v", name, same)
		}
	}
	for _, raw := range []string{"", "null", "[]", "{", "1"} {
		if got := content([]byte(raw)); got != "" {
			t.Errorf("%q has content %s", raw, got)
		}
	}
}

// FuzzContent changes serial and check results of anything, which changes no content, and one more field, which does.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`{"version":4,"serial":1,"resources":[]}`), uint64(7))
	f.Add([]byte(`{"a":"<>&","Serial":1,"a":2}`), uint64(0))
	f.Fuzz(func(t *testing.T, raw []byte, serial uint64) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil || fields == nil {
			if got := content(raw); got != "" {
				t.Fatalf("content %s", got)
			}
			return
		}
		with := func(key, value string) string {
			fields[key] = json.RawMessage(value)
			changed, err := json.MarshalIndent(fields, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return content(changed)
		}
		was := content(raw)
		if with("serial", strconv.FormatUint(serial, 10)) != was || with("check_results", "[1]") != was {
			t.Error("the serial or the check results are content")
		}
		if _, ok := fields["more"]; !ok && with("more", "1") == was {
			t.Error("another field is no content")
		}
	})
}

// TestRefreshesPushNothingOut refreshes a state that does not change more often than backups are kept, as the broker writes
// and the manager looks after it.
func TestRefreshesPushNothingOut(t *testing.T) {
	s, k, ctx := newStore(t), newKey(t), t.Context()
	clk := clocktesting.NewFakePassiveClock(epoch)
	s.Clock = clk
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "prod", UID: "1"}
	serial := uint64(0)
	write := func(fields map[string]json.RawMessage, check string) {
		t.Helper()
		serial++
		fields["serial"], fields["check_results"] = json.RawMessage(strconv.FormatUint(serial, 10)), json.RawMessage(check)
		raw, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(ctx, k, raw, WriteOptions{Backups: 3, Owner: &owner}); err != nil {
			t.Fatal(err)
		}
		clk.SetTime(clk.Now().Add(time.Second))
	}
	backup := func(want bool) {
		t.Helper()
		if took, err := s.Backup(ctx, k, BackupOptions{Owner: &owner}); err != nil || took != want {
			t.Errorf("serial %d: took a backup: %v, %v", serial, took, err)
		}
		if err := s.Prune(ctx, k, 3); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(want map[string]string) {
		t.Helper()
		sets, err := s.Backups(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for i, name := range describe(sets) {
			got[name] = sets[i].InputsHash
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at serial %d (-want +got)\n%s", serial, diff)
		}
	}
	apply := func(n int) map[string]json.RawMessage {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(parts(t, 100+uint64(n), 1+n), &fields); err != nil {
			t.Fatal(err)
		}
		write(fields, "null")
		return fields
	}
	mark := func(hash string) {
		t.Helper()
		if _, err := s.Adopt(ctx, k, owner, Marks{InputsHash: &hash}); err != nil {
			t.Fatal(err)
		}
	}
	apply(1)
	mark("h2:1")
	backup(true)
	fields := apply(2)
	mark("h2:2")
	backup(true)
	for i := range 6 {
		write(fields, fmt.Sprintf(`[{"status":"%d"}]`, i))
		backup(false)
	}
	kept(map[string]string{"1": "h2:1", "2": "h2:2"})

	// Other inputs with nothing to change: the backup is one of them, too.
	mark("h2:3")
	backup(false)
	kept(map[string]string{"1": "h2:1", "2": "h2:3"})

	// What a refresh does find is kept, and so is the way back to an earlier content.
	fields["outputs"] = json.RawMessage(`{"a":{"value":1,"type":"number"}}`)
	write(fields, "null")
	backup(true)
	fields["outputs"] = json.RawMessage(`{}`)
	write(fields, "null")
	backup(true)
	write(fields, "null")
	kept(map[string]string{"2": "h2:3", "9": "h2:3", "10": "h2:3"})
}
