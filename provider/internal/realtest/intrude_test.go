package realtest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/broker"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// intruderModule runs a program that tries to get at what is not the module's, in the middle of an apply.
const intruderModule = `
resource "terraform_data" "intruder" {
  provisioner "local-exec" {
    interpreter = ["${path.module}/intruder"]
    command     = "intrude"
    environment = { TARGETS = %q }
  }
}
`

// TestIntruder runs a module image that tries to get at Kubernetes, at the broker and at another object's state, while a
// run of that other object is under way.
func TestIntruder(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	g := newGate(t)
	_, pod := w.slowCluster("victim", "marker-of-another-object", g)
	volume, err := node.kubelet.VolumeDir(client.ObjectKeyFromObject(pod), "broker")
	if err != nil {
		t.Fatal(err)
	}
	session, err := broker.ReadSession(volume)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := json.Marshal(map[string]string{
		"API": tools.Environment(t).Config().Host, "Namespace": w.ns,
		"OwnSecret":   contract.StateSecretName(contract.RoleCluster, w.ns, "intruder"),
		"OtherSecret": contract.StateSecretName(contract.RoleCluster, w.ns, "victim"),
		"OtherSuffix": contract.StateSuffix(contract.RoleCluster, w.ns, "victim"), "OtherBroker": session.Address,
	})
	if err != nil {
		t.Fatal(err)
	}

	program, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "intruder")
	if err := overlay(dir, contract.RoleCluster, map[string]string{"intruder.tf": fmt.Sprintf(intruderModule, targets)}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "intruder"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	pushed, err := node.images.Module(ctx, node.base, contract.RoleCluster, dir, "", "test/intruder:v1")
	if err != nil {
		t.Fatal(err)
	}
	tc := controllerstest.Cluster(ctx, t, w, w.ns, "intruder", controllerstest.Images{Cluster: pushed.Tag})
	controllerstest.Await(ctx, t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	jobs := w.jobs("intruder", infrav1.OperationApply)
	if len(jobs) != 1 {
		t.Fatalf("there were %d applies", len(jobs))
	}
	log, err := node.kubelet.Logs(client.ObjectKeyFromObject(w.pod(jobs[0].Name)), job.SourceContainer)
	if err != nil {
		t.Fatal(err)
	}

	tried := map[string]string{}
	for _, m := range regexp.MustCompile(`intruder\[([^]]+)\] ([^\n"]*)`).FindAllStringSubmatch(string(log), -1) {
		tried[m[1]] = m[2]
		if strings.Contains(m[2], "OBTAINED") {
			t.Errorf("%s: %s", m[1], m[2])
		}
	}
	want := map[string]string{
		"env": "none", "processes": "none", "secrets directory": "none", "filesystem": "none", "session overwrite": "refused",
		// What is a module's: the password of its own run, and with it the state of its own object, of which there is none
		// yet during the first apply.
		"own session": "read", "broker other query": "own state only, 404",
		"broker result without password": "refused 401", "broker wrong password": "refused 401",
		"intruder": "done",
	}
	for _, who := range []string{"anonymous", "impersonation"} {
		for _, what := range []string{"list", "own state", "other state"} {
			want["api "+who+" "+what] = "refused 40"
		}
	}
	for _, who := range []string{"word", "forged", "session", "basic"} {
		for _, what := range []string{"list", "own state", "other state"} {
			want["api "+who+" "+what] = "refused 40"
		}
	}
	for _, method := range []string{"GET", "POST", "LOCK", "UNLOCK"} {
		want["broker "+method+" without password"], want["broker "+method+" of another pod"] = "refused 401", "refused 401"
	}
	others := 0
	for attempt, came := range tried {
		if strings.HasPrefix(attempt, "broker other address ") {
			others++
			if !strings.HasPrefix(came, "refused 40") {
				t.Errorf("%s: %s", attempt, came)
			}
		}
	}
	if others != 5 {
		t.Errorf("%d other addresses were tried", others)
	}
	for attempt, came := range want {
		if !strings.HasPrefix(tried[attempt], came) {
			t.Errorf("%s: %q, want %q", attempt, tried[attempt], came)
		}
	}
	if t.Failed() {
		t.Logf("%s", log)
	}
	if !strings.Contains(w.state("victim").raw, "slow_thing") {
		t.Error("the state of the other object is not what it was")
	}
}
