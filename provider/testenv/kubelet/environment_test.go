package kubelet_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/provider/testenv/registry"
)

// read returns a file of a volume on this machine.
func read(t *testing.T, key types.NamespacedName, volume, file string) string {
	t.Helper()
	dir, err := node.kubelet.VolumeDir(key, volume)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEnvironment: every source of variables.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	createSecret(t, ns, "s", map[string]string{"A": "secret-a", "B": "secret-b"})
	createConfigMap(t, ns, "c", map[string]string{"B": "config-b", "C": "config-c"})
	c := tool("main", "env A", "env B", "env P_C", "env KEY", "env NAME", "env UID", "env NODE", "env IP", "env LABEL", "env MEM", "env OPT", "env KUBERNETES_SERVICE_HOST", "env HOSTNAME")
	ref := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	yes := true
	c.EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
		{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: &yes}},
	}
	c.Env = []corev1.EnvVar{
		{Name: "B", Value: "own"},
		{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "A"}}},
		{Name: "OPT", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "none", Optional: &yes}}},
		{Name: "NAME", ValueFrom: ref("metadata.name")}, {Name: "UID", ValueFrom: ref("metadata.uid")}, {Name: "NODE", ValueFrom: ref("spec.nodeName")},
		{Name: "IP", ValueFrom: ref("status.podIP")}, {Name: "LABEL", ValueFrom: ref("metadata.labels['app']")},
		{Name: "MEM", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
	}
	p := podOf(c)
	p.Labels = map[string]string{"app": "x"}
	key := create(t, ns, p)
	got := until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "A=secret-a", "B=own", "P_C=config-c", "KEY=secret-a", "NAME=pod", "UID="+string(got.UID), "NODE=testenv", "IP=127.0.0.1",
		"LABEL=x", "MEM=17179869184", "OPT=", "KUBERNETES_SERVICE_HOST=127.0.0.1", "HOSTNAME=pod")
}

// TestMissingKey: a container waits for what its environment needs.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	c := tool("main", "env KEY")
	c.Env = []corev1.EnvVar{{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}, Key: "A"}}}}
	key := create(t, ns, podOf(c))
	got := until(t, key, "CreateContainerConfigError", waitingFor("main", "CreateContainerConfigError"))
	if m := status(got, "main").State.Waiting.Message; m != `secret "late" not found` {
		t.Errorf("it waits for %s", m)
	}
	createSecret(t, ns, "late", map[string]string{"A": "there"})
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "KEY=there")
}

// TestUsers: whom a container runs as.
func TestUsers(t *testing.T) {
	t.Parallel()
	k, _ := start(t)
	if !k.Isolation().Users {
		t.Skip(k.Isolation())
	}
	yes, own, root := true, int64(1234), int64(0)
	for name, tc := range map[string]struct {
		image string
		ctx   *corev1.SecurityContext
		want  string // the first line, or why it waits
	}{
		"root":             {want: "id 0 0 []"},
		"by number":        {image: "65532:7", want: "id 65532 7 []"},
		"by name":          {image: "nobody", want: "id 65534 65533 []"},
		"asked":            {image: "nobody", ctx: &corev1.SecurityContext{RunAsUser: &own, RunAsNonRoot: &yes}, want: "id 1234 0 []"},
		"nonroot":          {ctx: &corev1.SecurityContext{RunAsNonRoot: &yes}, want: "container has runAsNonRoot and image will run as root"},
		"nonroot but root": {ctx: &corev1.SecurityContext{RunAsNonRoot: &yes, RunAsUser: &root}, want: "container's runAsUser breaks non-root policy"},
		"nonroot by name":  {image: "nobody", ctx: &corev1.SecurityContext{RunAsNonRoot: &yes}, want: "container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root"},
		"no such user":     {image: "nemo", want: "unable to find user or group nemo in etc/passwd of the image"},
		"no capabilities":  {ctx: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}, want: "chown error: chown /data/file: operation not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ns := start(t)
			pushed, err := node.registry.Push(t.Context(), "test/user:"+strings.ReplaceAll(name, " ", "-"), toolImage(t, func(_ map[string]registry.File, c *v1.Config) { c.User = tc.image }))
			if err != nil {
				t.Fatal(err)
			}
			c := tool("main", "id", "chown /data/file")
			c.Image, c.SecurityContext = pushed.Tag, tc.ctx
			key := create(t, ns, podOf(c))
			got := until(t, key, "its end", func(p *corev1.Pod) bool { return finished(p) || waitingFor("main", "CreateContainerConfigError")(p) })
			text := output(t, key, "main")
			if w := status(got, "main").State.Waiting; w != nil {
				text += w.Message
			}
			wantLines(t, text, tc.want)
		})
	}
}

// TestReadOnlyRoot: the image cannot be changed, neither for this container nor for the next.
func TestReadOnlyRoot(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	if !k.Isolation().Namespaces {
		t.Skip(k.Isolation())
	}
	yes := true
	steps := []string{"write /data/file changed", "write /tmp/x y", "write /new x", "cat /data/file", "ls /data", "ls /"}
	fixed := tool("fixed", steps...)
	fixed.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes}
	key := create(t, ns, podOf(fixed, tool("free", steps...)))
	until(t, key, "its end", finished)
	text := output(t, key, "fixed")
	wantLines(t, text, "write error: open /data/file: read-only file system", "write error: open /tmp/x: read-only file system",
		"write error: open /new: read-only file system", "/data/file: from the image")
	wantLines(t, output(t, key, "free"), "/data/file: changed", "//new")
	for line := range strings.Lines(text) {
		// The machine's own files are nowhere to be seen.
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok && !slices.Contains(strings.Fields("bin data dev etc proc run tmp var"), name) {
			t.Errorf("there is /%s", name)
		}
	}
	again := podOf(tool("main", "cat /data/file"))
	again.Name = "again"
	key = create(t, ns, again)
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "/data/file: from the image")
}
