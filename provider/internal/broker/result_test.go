package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

// TestResult keeps a result in the run's Secret, beside its inputs.
func TestResult(t *testing.T) {
	f := newFixture(t, nil)
	raw := result.Encode(&result.Document{Version: result.Version, Op: "apply"})
	f.want(404, "PUT", "/v1/result", string(raw))
	f.secret("captf-run-job", map[string][]byte{"main.tf.json": []byte("{}")})
	f.want(400, "PUT", "/v1/result", canary)
	f.want(413, "PUT", "/v1/result", strings.Repeat(" ", result.MaxBytes+1))
	for range 2 {
		f.want(204, "PUT", "/v1/result", string(raw))
	}
	var secret corev1.Secret
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Key.Namespace, Name: "captf-run-job"}, &secret); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(secret.Data[ResultKey], raw) || string(secret.Data["main.tf.json"]) != "{}" {
		t.Errorf("the Secret holds %d keys", len(secret.Data))
	}
}

// TestPlan judges with the key of the object, and fails closed without one (B-384).
func TestPlan(t *testing.T) {
	f := newFixture(t, nil)
	const doc = `{"format_version":"1.2","resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b","provider_name":"p",` +
		`"change":{"actions":["delete","create"],"before":{"x":"` + canary + `"},"after":{"x":"y"},"after_unknown":{},"before_sensitive":{},"after_sensitive":{}}}]}`
	f.want(422, "POST", "/v1/plan", doc)
	f.secret("captf-plankey-c-prod", map[string][]byte{"key": []byte("short")})
	f.want(422, "POST", "/v1/plan", doc)
	key := []byte(strings.Repeat("k", plan.KeySize))
	var secret corev1.Secret
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Key.Namespace, Name: "captf-plankey-c-prod"}, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["key"] = key
	if err := f.Client.Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	f.want(422, "POST", "/v1/plan", "{"+canary)
	f.want(413, "POST", "/v1/plan", strings.Repeat(" ", maxPlan+1))
	answer := f.want(200, "POST", "/v1/plan", doc)
	want, err := plan.Judge(key, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var got plan.Report
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*want, got); diff != "" || !got.Destructive {
		t.Errorf("%s", diff)
	}
	if strings.Contains(answer, canary) || strings.Contains(answer, string(key)) {
		t.Errorf("the report has secrets: %s", answer)
	}
	none := newFixture(t, func(c *Config) { c.PlanKeySecret = "" })
	none.want(404, "POST", "/v1/plan", doc)
}

func eventBody(reason, note string) string {
	raw, _ := json.Marshal(Event{Type: "Normal", Reason: reason, Action: "apply", Note: note})
	return string(raw)
}

// TestEvents emits what a run may say, about its object.
func TestEvents(t *testing.T) {
	f := newFixture(t, nil)
	for _, reason := range EventReasons() {
		f.want(204, "POST", "/v1/event", eventBody(reason, strings.Repeat("ä", 600)))
	}
	for _, bad := range []string{
		"", "[]", `{"type":"Normal","reason":"Rooted","action":"x"}`, `{"type":"Odd","reason":"RunStarted","action":"x"}`,
		`{"type":"Normal","reason":"RunStarted"}`, `{"type":"Normal","reason":"RunStarted","action":"` + strings.Repeat("x", 129) + `"}`,
	} {
		f.want(400, "POST", "/v1/event", bad)
	}
	f.want(413, "POST", "/v1/event", strings.Repeat(" ", maxEvent+1))
	got := f.listEvents()
	var reasons []string
	for _, e := range got {
		reasons = append(reasons, e.Reason)
		if e.Regarding.Name != "prod" || e.Regarding.UID != "1" || e.Related.Name != "job" || e.ReportingController != "captf.io/runner" ||
			e.ReportingInstance != "pod" || len(e.Note) > maxNote || !utf8.ValidString(e.Note) {
			t.Errorf("event %+v", e)
		}
	}
	slices.Sort(reasons)
	want := slices.Sorted(slices.Values(EventReasons()))
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
	off := newFixture(t, func(c *Config) { c.Object = nil })
	off.want(204, "POST", "/v1/event", eventBody("RunStarted", ""))
	if n := len(off.listEvents()); n != 0 {
		t.Errorf("%d events although none were asked for", n)
	}
}

func (f *fixture) listEvents() []eventsv1.Event {
	f.t.Helper()
	var list eventsv1.EventList
	if err := f.Client.List(f.t.Context(), &list, client.InNamespace(f.Key.Namespace)); err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// TestEventsStop stops after three failures in a row, and after very many; the run never notices (B-619).
func TestEventsStop(t *testing.T) {
	f, c := withFailing(t)
	var n atomic.Int32
	var fail atomic.Bool
	fail.Store(true)
	c.set(nil, func() error {
		n.Add(1)
		if fail.Load() {
			return errors.New("no")
		}
		return nil
	})
	f.want(204, "POST", "/v1/event", eventBody("RunStarted", ""))
	f.want(204, "POST", "/v1/event", eventBody("RunStarted", ""))
	fail.Store(false)
	f.want(204, "POST", "/v1/event", eventBody("RunStarted", "")) // a success in between counts anew
	fail.Store(true)
	for range 5 {
		f.want(204, "POST", "/v1/event", eventBody("StepStarted", ""))
	}
	if n.Load() != 6 {
		t.Errorf("%d events were tried, want 6", n.Load())
	}
	g, d := withFailing(t)
	var m atomic.Int32
	d.set(nil, func() error { m.Add(1); return nil })
	for range maxEvents + 5 {
		g.want(204, "POST", "/v1/event", eventBody("StepStarted", ""))
	}
	if m.Load() != maxEvents {
		t.Errorf("%d events were written, want %d", m.Load(), maxEvents)
	}
}

func TestParseObject(t *testing.T) {
	got, err := ParseObject("infrastructure.cluster.x-k8s.io/v1alpha1/TerraformCluster/ns/prod/1-2")
	want := Object{APIVersion: "infrastructure.cluster.x-k8s.io/v1alpha1", Kind: "TerraformCluster", Namespace: "ns", Name: "prod", UID: "1-2"}
	if err != nil || *got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := ParseObject("v1/ConfigMap/ns/prod/1"); err != nil || got.APIVersion != "v1" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "a/b/c/d", "g/v/K/ns//1", "g/v/K/ns/n/1/2"} {
		if got, err := ParseObject(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 9)} {
		for most := 4; most < 20; most++ {
			got := cut(s, most)
			if len(got) > most || !utf8.ValidString(got) || len(s) <= most && got != s {
				t.Errorf("cut(%q, %d) = %q", s, most, got)
			}
		}
	}
	if a, b := eventName(strings.Repeat("x", 300)), eventName("x"); len(a) > 253 || a == b || !strings.HasPrefix(b, "x.") {
		t.Errorf("names of %d characters, and %s", len(a), b)
	}
}
