package kubelet_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// node is what the tests share.
var node struct {
	sync.Once
	kubelet  *kubelet.Kubelet
	registry *registry.Registry
	image    registry.Pushed
	err      error
}

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	code := tools.Main(m, testenv.Options{ControllerManager: true}, func() error {
		if node.kubelet == nil {
			return nil
		}
		return node.kubelet.Stop()
	})
	if node.registry != nil {
		_ = node.registry.Close()
	}
	return code
}

// binary builds podtool once.
var binary = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "podtool-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "podtool")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", file, "./internal/podtool")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building podtool: %w\n%s", err, out)
	}
	return os.ReadFile(file)
})

// toolImage is an image that runs podtool.
func toolImage(t testing.TB, edit func(files map[string]registry.File, config *v1.Config)) v1.Image {
	t.Helper()
	content, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]registry.File{
		"/bin/podtool": {Content: content},
		"/etc/passwd":  {Content: []byte("root:x:0:0:root:/:\nnobody:x:65534:65533:nobody:/:\n"), Mode: 0o644},
		"/data/file":   {Content: []byte("from the image"), Mode: 0o644},
		"/tmp":         {Dir: true, Mode: 0o1777},
		// As in Debian's images: an absolute link in the way of a mount.
		"/run":     {Dir: true},
		"/var/run": {Link: "/run"},
	}
	config := v1.Config{Entrypoint: []string{"podtool"}, Cmd: []string{"echo", "default"}, Env: []string{"PATH=/bin", "FROM=image"}, WorkingDir: "/data"}
	if edit != nil {
		edit(files, &config)
	}
	img, err := registry.Image(files, config)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// patience is how long a test waits for what must come, on a machine that is busy with other packages' tests.
const patience = 2 * time.Minute

// start returns the shared kubelet and a namespace.
func start(t *testing.T) (*kubelet.Kubelet, string) {
	t.Helper()
	env := tools.Environment(t)
	node.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		if node.registry, node.err = registry.Start(ctx, registry.Options{}); node.err != nil {
			return
		}
		if node.image, node.err = node.registry.Push(ctx, "test/tool:v1", toolImage(t, nil)); node.err != nil {
			return
		}
		node.kubelet, node.err = kubelet.Start(ctx, kubelet.Options{
			Config: env.Config(), ImageBackoff: 400 * time.Millisecond, RestartBackoff: 200 * time.Millisecond, VolumeSync: 300 * time.Millisecond,
		})
	})
	if node.err != nil {
		t.Fatal(node.err)
	}
	return node.kubelet, tools.Namespace(t)
}

// tool is a container that does what the steps say.
func tool(name string, steps ...string) corev1.Container {
	var args []string
	for i, s := range steps {
		if i > 0 {
			args = append(args, ",")
		}
		args = append(args, strings.Split(s, " ")...)
	}
	return corev1.Container{Name: name, Image: node.image.Tag, Command: []string{"/bin/podtool"}, Args: args}
}

func sidecar(c corev1.Container) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers}}
}

func create(t *testing.T, ns string, p *corev1.Pod) types.NamespacedName {
	t.Helper()
	made, err := tools.Environment(t).Clients().CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return types.NamespacedName{Namespace: ns, Name: made.Name}
}

// until watches a pod until it is as wanted; a pod that was deleted is nil.
func until(t *testing.T, key types.NamespacedName, what string, done func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := tools.Environment(t).Clients().CoreV1().Pods(key.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name).String()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := tools.Environment(t).Clients().CoreV1().Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) && done(nil) {
		return nil
	}
	var last *corev1.Pod
	for e := range w.ResultChan() {
		p, ok := e.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		last = p
		if e.Type == watch.Deleted {
			if done(nil) {
				return nil
			}
			t.Fatalf("waiting for %s: the pod was deleted", what)
		}
		if done(p) {
			return p
		}
	}
	t.Fatalf("waiting for %s: the pod is %s", what, describe(last))
	return nil
}

func describe(p *corev1.Pod) string {
	if p == nil {
		return "not there"
	}
	s := fmt.Sprintf("%s %s %s", p.Status.Phase, p.Status.Reason, p.Status.Message)
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		s += fmt.Sprintf("\n%s: %+v restarts %d", c.Name, c.State, c.RestartCount)
	}
	return s
}

func finished(p *corev1.Pod) bool {
	return p != nil && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
}

func running(p *corev1.Pod) bool { return p != nil && p.Status.Phase == corev1.PodRunning }

func isGone(p *corev1.Pod) bool { return p == nil }

// output is what a container wrote.
func output(t *testing.T, key types.NamespacedName, container string) string {
	t.Helper()
	text, err := node.kubelet.Logs(key, container)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// logged waits until a container has written something.
func logged(t *testing.T, key types.NamespacedName, container, want string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		text := ""
		if b, err := node.kubelet.Logs(key, container); err == nil {
			text = string(b)
		}
		if strings.Contains(text, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %q in the log of %s: %s", want, container, text)
		}
	}
}

func status(p *corev1.Pod, name string) corev1.ContainerStatus {
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if c.Name == name {
			return c
		}
	}
	return corev1.ContainerStatus{}
}

func waitingFor(name, reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if p == nil {
			return false
		}
		w := status(p, name).State.Waiting
		return w != nil && w.Reason == reason
	}
}

// wantLines checks that a text has these lines.
func wantLines(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		found := false
		for line := range strings.Lines(text) {
			found = found || strings.TrimSpace(line) == w
		}
		if !found {
			t.Errorf("there is no line %q in\n%s", w, text)
		}
	}
}
