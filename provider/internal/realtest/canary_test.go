package realtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/common/expfmt"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
)

// managerLog keeps all that the controllers log, at every level.
var managerLog struct {
	sync.Mutex
	bytes.Buffer
}

func keepLog() {
	ctrl.SetLogger(funcr.New(func(prefix, args string) {
		managerLog.Lock()
		defer managerLog.Unlock()
		fmt.Fprintln(&managerLog.Buffer, prefix, args)
	}, funcr.Options{Verbosity: 4}))
}

// leakModule shows all that it knows, and fails with it.
const leakModule = `
resource "terraform_data" "leak" {
  provisioner "local-exec" {
    interpreter = ["${path.module}/leak"]
    command     = "leak"
  }
}
`

// tellModule fails with the bootstrap data in its message, after it has written it to its log as a change.
const tellModule = `
resource "terraform_data" "tell" {
  input = nonsensitive(var.bootstrap_data)

  lifecycle {
    precondition {
      condition     = var.machine_name == ""
      error_message = "told: ${nonsensitive(var.bootstrap_data)}"
    }
  }
}

output "told" {
  value = nonsensitive(var.bootstrap_data)
}
`

// TestCanary looks for secrets everywhere but in Secrets, after modules did what they could to spread them.
func TestCanary(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	const bootstrap = "bootstrap-6c1f7d52-never-shown"
	program, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	leak, tell := filepath.Join(t.TempDir(), "leak"), filepath.Join(t.TempDir(), "tell")
	if err := overlay(leak, contract.RoleCluster, map[string]string{"leak.tf": leakModule}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(leak, "leak"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := overlay(tell, contract.RoleMachine, map[string]string{"tell.tf": tellModule}); err != nil {
		t.Fatal(err)
	}
	leaking, err := node.images.Module(ctx, node.base, contract.RoleCluster, leak, "", "test/leak:v1")
	if err != nil {
		t.Fatal(err)
	}
	telling, err := node.images.Module(ctx, node.base, contract.RoleMachine, tell, "", "test/tell:v1")
	if err != nil {
		t.Fatal(err)
	}

	tc := controllerstest.Cluster(ctx, t, w, w.ns, "leak", controllerstest.Images{Cluster: leaking.Tag})
	w.cluster("plain")
	controllerstest.Create(ctx, t, w, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "tell-bootstrap"},
		StringData: map[string]string{"value": "#cloud-config\npassword: " + bootstrap + "\nother: x\n", "format": "cloud-config"},
	})
	tm := controllerstest.Machine(ctx, t, w, w.ns, "plain", "tell", false, controllerstest.Images{Machine: telling.Tag})
	w.failed(tc, infrav1.ApplyFailedReason)
	controllerstest.Await(ctx, t, w, tm, "failed", func(tm *infrav1.TerraformMachine) bool {
		return tm.Status.LastRun != nil && tm.Status.LastRun.Error != nil
	})
	if !strings.Contains(tm.Status.LastRun.Error.Summary, "told: ") {
		t.Errorf("the summary is %q", tm.Status.LastRun.Error.Summary)
	}

	places := map[string]string{}
	told := 0
	if err := node.kubelet.AllLogs(func(container string, text []byte) error {
		if strings.HasPrefix(container, w.ns+"/") {
			places["log of "+container] += string(text)
			told += bytes.Count(text, []byte("leaked[")) + bytes.Count(text, []byte("told: "))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if told < 2 {
		t.Errorf("the modules told %d times", told)
	}
	for _, list := range []client.ObjectList{
		&infrav1.TerraformClusterList{}, &infrav1.TerraformMachineList{}, &infrav1.TerraformClusterIdentityList{},
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.EventList{}, &eventsv1.EventList{}, &coordinationv1.LeaseList{},
	} {
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		places[fmt.Sprintf("%T", list)] = string(raw)
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var metrics bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&metrics, f); err != nil {
			t.Fatal(err)
		}
	}
	places["metrics"] = metrics.String()
	managerLog.Lock()
	places["the manager's log"] = managerLog.String()
	managerLog.Unlock()
	for where, text := range places {
		if len(text) == 0 && !strings.HasPrefix(where, "log of ") {
			t.Errorf("%s is empty", where)
		}
		for _, secret := range []string{controllerstest.Canary, bootstrap} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("a secret is in %s: …%s…", where, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
