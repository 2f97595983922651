package runner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// BenchmarkOverhead applies a machine with a large payload through the runner,
// and by hand in the same directory. The metric overhead-% is what the runner
// adds to the runtime's own time; the bar is 10 (design D11).
func BenchmarkOverhead(b *testing.B) {
	tofu := runtimetest.OpenTofu(b)
	r := openRunner(b, tofu, noop, nil)
	in := machineInputs("m", json.RawMessage(`{"schema":"captf.io/noop-cluster/v1","backend_id":"b"}`), true)
	var payload bytes.Buffer
	for i := range 1200 {
		fmt.Fprintf(&payload, "- line %d of a payload that has as many as a control plane's\n", i)
	}
	in.Bootstrap.Data = payload.Bytes()
	must(b)(r.Apply(b.Context(), "m", in))
	dir := filepath.Join(r.Scratch(), "machine", "m")
	env := append(os.Environ(), "TF_DATA_DIR="+filepath.Join(r.Scratch(), "machine", ".terraform"),
		"TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	var ours, bare time.Duration
	for b.Loop() {
		start := time.Now()
		must(b)(r.Apply(b.Context(), "m", in))
		ours += time.Since(start)

		cmd := exec.Command(tofu.Path, "apply", "-json", "-input=false", "-auto-approve")
		cmd.Dir, cmd.Env = dir, env
		start = time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		bare += time.Since(start)
	}
	b.ReportMetric(100*(float64(ours)/float64(bare)-1), "overhead-%")
	b.ReportMetric(float64(bare.Milliseconds())/float64(b.N), "bare-ms/op")
}
