package harness

import (
	"encoding/json"
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

func TestJudgeSecrets(t *testing.T) {
	for exports, want := range map[string]Status{
		`{"backend_id": "b"}`:                     StatusPassed,
		`{"auth": {"token": "abc"}}`:              StatusFailed,
		`{"admin_password": "Exported-Passw0rd"}`: StatusManual, // or the name of an entry in a secret store
		`{"admin_password": ""}`:                  StatusPassed,
		`{"admin_password": "x", "token": "abc"}`: StatusFailed,
	} {
		if got := judgeSecrets(json.RawMessage(exports)); got.status != want || got.id != "CP-012" {
			t.Errorf("exports %s: %s %s, want %s", exports, got.id, got.status, want)
		}
	}
}

func TestJudgeHarmed(t *testing.T) {
	for _, c := range []struct {
		kind  FaultKind
		state contract.HealthState
		id    string
		want  Status
	}{
		{FaultInstanceGone, contract.HealthTerminated, "x://1", StatusPassed},
		{FaultInstanceGone, contract.HealthUnknown, "", StatusPassed},
		{FaultInstanceGone, contract.HealthRunning, "x://1", StatusFailed},
		{FaultInstanceGone, contract.HealthRunning, "", StatusFailed},
		{FaultRefreshBlind, contract.HealthRunning, "", StatusFailed},
		{FaultRefreshBlind, contract.HealthTerminated, "", StatusPassed},
		{FaultInstanceStopped, contract.HealthRunning, "x://1", StatusFailed},
		{FaultInstanceStopped, contract.HealthStopped, "x://1", StatusPassed},
	} {
		out := &contract.MachineOutputs{ProviderID: c.id, Health: contract.Health{State: c.state}}
		if got := judgeHarmed(c.kind, out); got.status != c.want {
			t.Errorf("%s with health %s and provider_id %q: %s, want %s", c.kind, c.state, c.id, got.status, c.want)
		}
	}
}
