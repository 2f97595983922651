package kubelet_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPod runs a container and checks what it sees and what is said of it.
func TestPod(t *testing.T) {
	_, ns := start(t)
	c := tool("main", "echo hello", "cat /data/file", "pwd", "hostname", "env FROM", "env SET", "env REF", "write /dev/termination-log bye", "exit 3")
	c.Env = []corev1.EnvVar{{Name: "SET", Value: "a"}, {Name: "REF", Value: "$(SET)-$(FROM)-$(NONE)-$$(SET)"}}
	c.Args = append(c.Args[:len(c.Args)-3], ",", "echo", "$(SET)", ",", "exit", "3")
	key := create(t, ns, podOf(c))
	p := until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "hello", "/data/file: from the image", "pwd /data", "hostname pod", "FROM=image", "SET=a", "REF=a-image-$(NONE)-$(SET)", "a")
	s := status(p, "main")
	if p.Status.Phase != corev1.PodFailed || s.State.Terminated == nil || s.State.Terminated.ExitCode != 3 || s.State.Terminated.Reason != "Error" || s.State.Terminated.Message != "bye" {
		t.Errorf("the pod is %s", describe(p))
	}
	if s.ImageID != node.image.Digest {
		t.Errorf("the image is %s, want %s", s.ImageID, node.image.Digest)
	}
}
