package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
)

// rule is an alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Metadata struct{ Name string }
		Spec     struct {
			Groups []struct {
				Name  string
				Rules []rule
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if file.Metadata.Name != "captf-alerts" || len(file.Spec.Groups) != 1 || file.Spec.Groups[0].Name != "captf" {
		t.Fatalf("alerts: %+v", file)
	}
	return file.Spec.Groups[0].Rules
}

// TestAlerts holds provider-status.md 5: which there are, in which order, how severe they are and after what time.
func TestAlerts(t *testing.T) {
	var got []string
	for _, r := range alerts(t) {
		got = append(got, strings.Join([]string{r.Alert, r.Labels["severity"], r.For}, " "))
		checkExpression(t, r.Alert, r.Expr)
		for _, a := range []string{"summary", "description", "runbook_url"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s has no %s", r.Alert, a)
			}
		}
		checkTemplates(t, r)
	}
	want := []string{
		"CAPTFJobFailing warning ", "CAPTFDestroyStuck critical 30m", "CAPTFClusterDrift warning 1h",
		"CAPTFStateUnreadable critical ", "CAPTFForceUnlocks warning ", "CAPTFReconcileErrors warning 10m",
		"CAPTFJobSlow info 30m", "CAPTFJobQueueSlow warning 10m", "CAPTFStateNearSecretLimit warning 15m",
		"CAPTFInputsNearLimit warning 15m", "CAPTFNoRecentSuccess warning 30m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
}

// TestBlockedIsNoFailure: a plan that waits for a person is not an alarm.
func TestBlockedIsNoFailure(t *testing.T) {
	for _, r := range alerts(t) {
		if r.Alert == "CAPTFJobFailing" && (strings.Contains(r.Expr, "blocked") || strings.Contains(r.Expr, "plan_changed")) {
			t.Errorf("%s counts plans that wait: %s", r.Alert, r.Expr)
		}
	}
}

var labelReference = regexp.MustCompile(`\$labels\.(\w+)`)

// checkTemplates checks that the texts of an alert use labels that its expression leaves.
func checkTemplates(t *testing.T, r rule) {
	t.Helper()
	left := map[string]bool{}
	expression, err := metricsql.Parse(r.Expr)
	if err != nil {
		return
	}
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.AggrFuncExpr:
			for _, l := range e.Modifier.Args {
				left[l] = true
			}
		case *metricsql.MetricExpr:
			if f := family(metricName(e)); f != nil && f.PerObject {
				for _, l := range f.Labels {
					left[l.Name] = true
				}
			}
		}
	})
	for _, text := range r.Annotations {
		for _, m := range labelReference.FindAllStringSubmatch(text, -1) {
			if !left[m[1]] {
				t.Errorf("%s: a text uses the label %s, which %s does not have", r.Alert, m[1], r.Expr)
			}
		}
	}
}

// foreign are metrics of libraries, with their labels.
var foreign = map[string][]string{
	"controller_runtime_reconcile_errors_total": {"controller"},
	"process_resident_memory_bytes":             {},
}

// targets are labels that Prometheus adds to every series.
var targets = []string{"instance", "job", "pod"}

// controllers are the names of the controllers (provider-status.md 5).
var controllers = []string{
	"terraformcluster", "terraformmachine", "terraformmachinepool", "terraformmachinetemplate", "terraformclusteridentity",
}

// family returns the metric that a name is of, which for a histogram has an ending.
func family(name string) *metrics.Family {
	for _, f := range metrics.Families() {
		if f.Name == name && f.Type != metrics.Histogram {
			return &f
		}
		for _, ending := range []string{"_bucket", "_sum", "_count"} {
			if f.Type == metrics.Histogram && f.Name+ending == name {
				return &f
			}
		}
	}
	return nil
}

func metricName(e *metricsql.MetricExpr) string {
	for _, filters := range e.LabelFilterss {
		for _, f := range filters {
			if f.Label == "__name__" {
				return f.Value
			}
		}
	}
	return ""
}

// checkExpression checks that an expression can be parsed and uses metrics, labels and values that there are.
func checkExpression(t *testing.T, where, text string) {
	t.Helper()
	for from, to := range map[string]string{"$__rate_interval": "5m", "$kind": ".*", "$namespace": ".*"} {
		text = strings.ReplaceAll(text, from, to)
	}
	expression, err := metricsql.Parse(text)
	if err != nil {
		t.Errorf("%s: %s: %v", where, text, err)
		return
	}
	known := slices.Clone(targets)
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		name := metricName(m)
		values := map[string][]string{}
		if f := family(name); f != nil {
			for _, l := range f.Labels {
				values[l.Name] = l.Values
			}
			if f.Type == metrics.Histogram {
				values["le"] = nil
			}
			if f.Later != "" {
				t.Errorf("%s: nothing records %s yet", where, name)
			}
		} else if labels, ok := foreign[name]; ok {
			for _, l := range labels {
				values[l] = nil
				if l == "controller" {
					values[l] = controllers
				}
			}
		} else {
			t.Errorf("%s: there is no metric %s", where, name)
			return
		}
		for l := range values {
			known = append(known, l)
		}
		for _, filters := range m.LabelFilterss {
			for _, filter := range filters {
				if filter.Label != "__name__" {
					checkFilter(t, where, name, filter, values)
				}
			}
		}
	})
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		if a, ok := e.(*metricsql.AggrFuncExpr); ok {
			for _, l := range a.Modifier.Args {
				if !slices.Contains(known, l) {
					t.Errorf("%s: %s groups by %s, which nothing in it has", where, text, l)
				}
			}
		}
	})
}

// checkFilter checks that a filter lets some value through, and each alternative of it one.
func checkFilter(t *testing.T, where, name string, filter metricsql.LabelFilter, values map[string][]string) {
	t.Helper()
	all, found := values[filter.Label]
	if !found {
		t.Errorf("%s: %s has no label %s", where, name, filter.Label)
		return
	}
	if all == nil {
		return
	}
	alternatives := []string{filter.Value}
	if filter.IsRegexp {
		alternatives = strings.Split(filter.Value, "|")
	}
	for _, a := range alternatives {
		pattern := regexp.MustCompile("^(?:" + a + ")$")
		if !slices.ContainsFunc(all, pattern.MatchString) {
			t.Errorf("%s: %s never has %s=%q", where, name, filter.Label, a)
		}
	}
}

func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("prometheus", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	type cell struct{ x, y int }
	taken, ids, used := map[cell]string{}, map[int]bool{}, string(raw)
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d, %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[cell{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies over %q, or beyond the edge", p.Title, other)
				}
				taken[cell{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			checkExpression(t, "panel "+p.Title, target.Expr)
		}
	}
	for _, f := range metrics.Families() {
		if f.Later == "" && !strings.Contains(used, f.Name) && f.Name != "captf_inputs_hash_changes_total" {
			t.Errorf("no panel shows %s", f.Name)
		}
	}
}

func TestAlertsPage(t *testing.T) {
	golden.Assert(t, filepath.Join("..", "..", "docs", "reference", "alerts.md"), page(t))
}

// page is the reference page of the alerts.
func page(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`<!-- Code generated by go generate ./provider/config from prometheus/alerts.yaml; DO NOT EDIT. -->

# Alerts

They are rules of the Prometheus Operator, in ` + "`provider/config/prometheus`" + `, about [metrics](metrics.md) of the manager. What to do
about each is in [runbooks](../runbooks.md).

`)
	for _, r := range alerts(t) {
		after := "at once"
		if r.For != "" {
			after = "after " + r.For
		}
		_, anchor, found := strings.Cut(r.Annotations["runbook_url"], "/docs/runbooks.md#")
		if !found || anchor != strings.ToLower(r.Alert) {
			t.Errorf("%s: its runbook is %s", r.Alert, r.Annotations["runbook_url"])
		}
		fmt.Fprintf(&b, "## %s\n\nSeverity %s, %s. [What to do](../runbooks.md#%s).\n\n```promql\n%s\n```\n\n", r.Alert, r.Labels["severity"], after, anchor, r.Expr)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// TestRunbooks: each alert leads to a section that says what to do.
func TestRunbooks(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		_, section, found := strings.Cut(string(raw), "\n## "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, part := range []string{"**Means.**", "**Look at.**", "**Do.**"} {
			if !found || !strings.Contains(section, part) {
				t.Errorf("the runbook of %s does not have %s", r.Alert, part)
			}
		}
	}
}
