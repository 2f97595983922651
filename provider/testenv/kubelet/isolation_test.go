package kubelet_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// TestNotIsolated runs pods without namespaces: paths in arguments and variables lead to the right files.
func TestNotIsolated(t *testing.T) {
	_, ns := start(t)
	node.kubelet.Cordon(true)
	defer node.kubelet.Cordon(false)
	env := tools.Environment(t)
	k, err := kubelet.Start(t.Context(), kubelet.Options{Config: env.Config(), NodeName: "open", Isolation: kubelet.IsolateNever})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	}()
	n, err := env.Clients().CoreV1().Nodes().Get(t.Context(), "open", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := n.Annotations["testenv/isolation"]; k.Isolation().Namespaces || !strings.Contains(text, "without namespaces") {
		t.Errorf("the node says %q, and the kubelet %v", text, k.Isolation())
	}
	createSecret(t, ns, "s", map[string]string{"key": "value"})
	shared := corev1.VolumeMount{Name: "shared", MountPath: "/shared"}
	main := mounted(tool("main", "cat /s/key", "cat /shared/log", "cat /data/file", "write /dev/termination-log bye", "env WHERE", "env PLAIN", "pwd", "term 6", "spawn", "forever"),
		shared, corev1.VolumeMount{Name: "s", MountPath: "/s"})
	main.Env = []corev1.EnvVar{{Name: "WHERE", Value: "/s/key:/shared"}, {Name: "PLAIN", Value: "http://x/s/key"}}
	beside := sidecar(mounted(tool("beside", "log /shared/log beside", "term 0", "forever"), shared))
	beside.Command = []string{"podtool"}
	p := podOf(main)
	p.Spec.InitContainers = []corev1.Container{beside}
	p.Spec.Volumes = []corev1.Volume{emptyDir("shared"), {Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}}
	key := create(t, ns, p)
	until(t, key, "it to run", running)
	for {
		if text, err := k.Logs(key, "main"); err == nil && strings.Contains(string(text), "pwd ") {
			break
		}
	}
	if err := k.Signal(key, "main", 15); err != nil {
		t.Fatal(err)
	}
	got := until(t, key, "its end", finished)
	if s := status(got, "main").State.Terminated; s.ExitCode != 6 || s.Message != "bye" {
		t.Errorf("the pod is %s", describe(got))
	}
	all := map[string]string{}
	if err := k.AllLogs(func(c string, text []byte) error { all[c] += string(text); return nil }); err != nil {
		t.Fatal(err)
	}
	text := all[ns+"/pod/main"]
	for _, want := range []string{"/volumes/s/key: value\n", "/volumes/shared/log: beside\n", "/root/data/file: from the image\n", "PLAIN=http://x/s/key\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for _, want := range []string{"WHERE=", "pwd "} {
		if strings.Contains(text, want+"/s/key") || !strings.Contains(text, want+"/") {
			t.Errorf("%s was not rewritten in\n%s", want, text)
		}
	}
	if !strings.Contains(all[ns+"/pod/beside"], "got TERM") {
		t.Errorf("the sidecar said %q", all[ns+"/pod/beside"])
	}
}

// TestIsolation says what this machine allows, so that whoever reads the log knows what the other tests mean.
func TestIsolation(t *testing.T) {
	k, _ := start(t)
	t.Log(k.Isolation())
}
