package simulatedaws_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
	"github.com/captf-toolkit/captf/sdk/harness/rke2"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// open prepares the set on simulated providers.
func open(t testing.TB, catalog *simcloud.Catalog) *runner.Runner {
	t.Helper()
	set, err := runner.OpenSet(".")
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(t.Context(), set, runner.Options{
		Binary: runtimetest.OpenTofu(t), Scratch: t.TempDir(), Definition: versions.Default(), Parallel: 4,
		Simulate: &runner.Simulation{Catalog: catalog, Personas: persona.All()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// play plays a scenario, and fails unless all went well and the cloud is empty at the end.
func play(t testing.TB, r *runner.Runner, plane *harness.ControlPlane, id string, steps ...harness.Step) *harness.Result {
	t.Helper()
	cfg := harness.Config{Modules: r, Definition: versions.Default(), ControlPlane: plane, Seed: 1}
	for _, s := range plane.Scenarios {
		if s.ID == id {
			cfg.Scenario = s
		}
	}
	if cfg.Scenario.ID == "" {
		t.Fatalf("there is no scenario %s", id)
	}
	if len(steps) > 0 {
		cfg.Scenario.Steps, cfg.Scenario.Probes = steps, false
	}
	result, err := harness.Play(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range result.Requirements {
		if q.Status == harness.StatusFailed {
			t.Errorf("%s fails: %s", q.ID, q.Reason)
		}
	}
	if result.Verdict != harness.VerdictPassed || len(result.Left) > 0 || len(result.LeftInCloud) > 0 {
		t.Errorf("verdict is %s, left are %v, in the cloud %v", result.Verdict, result.Left, result.LeftInCloud)
	}
	if objects := r.Cloud().Objects(); len(objects) > 0 {
		t.Errorf("the simulated cloud still has %d objects, such as %s %s", len(objects), objects[0].Type, objects[0].ID)
	}
	return result
}

// The whole life with probes, and a story of each kind beside it: another control plane, a fault of a run, one of
// the cloud. All scenarios: captf harness run --simulate --all examples/simulated-aws.
func TestSimulated(t *testing.T) {
	for _, c := range []struct {
		plane *harness.ControlPlane
		id    string
	}{
		{kcp.New(), "life"},
		{rke2.New(), "R1"},
		{kcp.New(), "fault-apply-fails"},
		{kcp.New(), "fault-instance-gone"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			play(t, open(t, simcloud.NewCatalog(schemas.Files)), c.plane, c.id)
		})
	}
}

// wholeSchema is how many bytes the whole schema of hashicorp/aws 6.66.0 has: 1,725 resource types and 683 data
// sources. The built-in one has those that modules for clusters use.
const wholeSchema = 1_770_000

// BenchmarkLifeBar plays a cluster of three control-plane machines, three workers and a pool of three from
// its creation to its deletion, with a schema of AWS as large as the whole one, and tells where the time
// goes: runtime-% while OpenTofu runs, schema-% until the schema is read and the set prepared, ours-% for the
// rest, which is what the harness and the simulated cloud add (design D11: at most 10).
func BenchmarkLifeBar(b *testing.B) {
	file := filepath.Join(b.TempDir(), "aws.json.gz")
	if err := os.WriteFile(file, enlarged(b), 0o600); err != nil {
		b.Fatal(err)
	}
	create := harness.Step{
		ID: "create", Title: "the user creates a cluster: 3 control-plane machines, 3 workers and a pool of 3",
		Ask: &harness.Ask{ControlPlanes: new(3), Workers: new(3), Pool: new(3)},
	}
	var total, prepare, runtime time.Duration
	for b.Loop() {
		start := time.Now()
		catalog := simcloud.NewCatalog(schemas.Files)
		if err := catalog.AddFile("hashicorp/aws", file); err != nil {
			b.Fatal(err)
		}
		r := open(b, catalog)
		prepare += time.Since(start)
		result := play(b, r, kcp.New(), "K2", create, harness.StepDelete)
		total += time.Since(start)
		runtime += time.Duration(result.Timing.Runtime * float64(time.Second))
	}
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(total) }
	b.ReportMetric(share(runtime), "runtime-%")
	b.ReportMetric(share(prepare), "schema-%")
	b.ReportMetric(share(total-prepare-runtime), "ours-%")
	b.ReportMetric(total.Seconds()/float64(b.N), "life-s")
}

// enlarged is the built-in schema with copies of its types under other names, as large as the whole one.
func enlarged(t testing.TB) []byte {
	t.Helper()
	f, err := schemas.Files.Open("recorded/hashicorp_aws.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"resource_schemas", "data_source_schemas"} {
		var types map[string]json.RawMessage
		if err := json.Unmarshal(doc[kind], &types); err != nil {
			t.Fatal(err)
		}
		all := map[string]json.RawMessage{}
		for i := range wholeSchema / len(raw) {
			for name, schema := range types {
				copied := name
				if i > 0 {
					copied = fmt.Sprintf("aws_copy%s_%s", strconv.Itoa(i), name)
				}
				all[copied] = schema
			}
		}
		if doc[kind], err = json.Marshal(all); err != nil {
			t.Fatal(err)
		}
	}
	doc["pruned"] = json.RawMessage("false")
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(doc); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
