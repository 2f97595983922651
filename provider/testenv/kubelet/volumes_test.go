package kubelet_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func createSecret(t *testing.T, ns, name string, data map[string]string) {
	t.Helper()
	_, err := tools.Environment(t).Clients().CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func createConfigMap(t *testing.T, ns, name string, data map[string]string) {
	t.Helper()
	_, err := tools.Environment(t).Clients().CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMissingSecret: the pod waits, an event says for what, and it runs when it is there.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	p := podOf(mounted(tool("main", "cat /s/key"), corev1.VolumeMount{Name: "s", MountPath: "/s"}))
	p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late"}}}}
	key := create(t, ns, p)
	w, err := tools.Environment(t).Clients().CoreV1().Events(ns).Watch(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedMount"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := (<-w.ResultChan()).Object.(*corev1.Event)
	if want := `MountVolume.SetUp failed for volume "s" : secret "late" not found`; e.Message != want || e.Type != corev1.EventTypeWarning || e.InvolvedObject.Name != "pod" {
		t.Errorf("got the event %s %s of %s", e.Type, e.Message, e.InvolvedObject.Name)
	}
	until(t, key, "it to wait", func(p *corev1.Pod) bool {
		return p != nil && p.Status.Phase == corev1.PodPending && waitingFor("main", "ContainerCreating")(p)
	})
	createSecret(t, ns, "late", map[string]string{"key": "value"})
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "/s/key: value")
}

// TestVolumes: contents, paths, modes, and what can be written.
func TestVolumes(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	createSecret(t, ns, "s", map[string]string{"a": "secret-a", "b": "secret-b"})
	createConfigMap(t, ns, "c", map[string]string{"x": "config-x", "y": "config-y"})
	mode, yes := int32(0o400), true
	p := podOf(mounted(tool("main",
		"cat /s/a", "cat /s/b", "stat /s/a", "stat /s/b", "cat /picked/deep/in/a", "ls /picked", "cat /c/x",
		"cat /all/s/a", "cat /all/x", "cat /all/labels", "cat /all/cpu", "cat /one", "ls /optional",
		"write /s/new no", "write /empty/sub/file yes", "cat /empty/sub/file", "cat /empty/c/x", "write /ro/file no", "write /dev/null x", "ls /dev/shm"),
		corev1.VolumeMount{Name: "s", MountPath: "/s"}, corev1.VolumeMount{Name: "picked", MountPath: "/picked"},
		corev1.VolumeMount{Name: "c", MountPath: "/c"}, corev1.VolumeMount{Name: "all", MountPath: "/all"},
		corev1.VolumeMount{Name: "c", MountPath: "/one", SubPath: "y"}, corev1.VolumeMount{Name: "optional", MountPath: "/optional"},
		corev1.VolumeMount{Name: "empty", MountPath: "/empty"}, corev1.VolumeMount{Name: "empty", MountPath: "/empty/sub", SubPath: "made/here"},
		corev1.VolumeMount{Name: "c", MountPath: "/empty/c"}, corev1.VolumeMount{Name: "empty", MountPath: "/ro", ReadOnly: true},
	))
	p.Labels = map[string]string{"app": "test", "tier": "1"}
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: &mode}}},
		{Name: "picked", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{{Key: "a", Path: "deep/in/a"}}}}},
		{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
		{Name: "optional", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: &yes}}},
		{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Items: []corev1.KeyToPath{{Key: "a", Path: "s/a"}}}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
				{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.cpu"}},
			}}},
		}}}},
		emptyDir("empty"),
	}
	key := create(t, ns, p)
	until(t, key, "its end", finished)
	text := output(t, key, "main")
	wantLines(t, text,
		"/s/a: secret-a", "/s/b: secret-b", "/picked/deep/in/a: secret-a", "/picked/deep", "/c/x: config-x", "/all/s/a: secret-a", "/all/x: config-x",
		`/all/labels: app="test"`, `tier="1"`, "/all/cpu: 2", "/one: config-y", "/empty/sub/file: yes", "/empty/c/x: config-x",
		"write error: open /s/new: read-only file system", "write error: open /ro/file: read-only file system")
	if k.Isolation().Users {
		wantLines(t, text, "/s/a 400 0:0", "/s/b 400 0:0")
	}
	if strings.Contains(text, "/picked/a\n") || strings.Contains(text, "write error: open /empty") {
		t.Error(text)
	}
}

// TestVolumesChange: files of a running pod follow their sources.
func TestVolumesChange(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	createConfigMap(t, ns, "c", map[string]string{"x": "old", "gone": "old"})
	p := podOf(mounted(tool("main", "cat /c/x", "await /c/new", "cat /c/x", "ls /c"), corev1.VolumeMount{Name: "c", MountPath: "/c"}))
	p.Spec.Volumes = []corev1.Volume{{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}}
	key := create(t, ns, p)
	logged(t, key, "main", "/c/x: old")
	if _, err := tools.Environment(t).Clients().CoreV1().ConfigMaps(ns).Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"x": "changed", "new": ""},
	}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "/c/x: changed", "/c/new")
}

// TestToken: a pod is its service account at the API server, and only with a token.
func TestToken(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	client := tools.Environment(t).Clients()
	if _, err := client.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: ns}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	steps := []string{"api /api/v1/namespaces/" + ns + "/configmaps", "api /api/v1/namespaces/" + ns + "/secrets", "cat /var/run/secrets/kubernetes.io/serviceaccount/namespace"}
	key := create(t, ns, podOf(tool("main", steps...)))
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "api /api/v1/namespaces/"+ns+"/configmaps 200", "api /api/v1/namespaces/"+ns+"/secrets 403",
		"/var/run/secrets/kubernetes.io/serviceaccount/namespace: "+ns)

	no := false
	without := podOf(tool("main", append(steps, "ls /var/run/secrets", "ls /run")...))
	without.Name, without.Spec.AutomountServiceAccountToken = "without", &no
	key = create(t, ns, without)
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "api error: open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory",
		"ls error: open /var/run/secrets: no such file or directory")
}

// TestTokenRefreshed: a token is replaced when most of its time is over, and another container does not get it.
func TestTokenRefreshed(t *testing.T) {
	t.Parallel()
	_, ns := start(t)
	seconds := int64(600) // the shortest that the API server gives
	p := podOf(mounted(tool("main", "stat /token/token", "term 0", "echo ready", "forever"), corev1.VolumeMount{Name: "token", MountPath: "/token"}), tool("other", "ls /token"))
	no, user, group := false, int64(65532), int64(65532)
	p.Spec.AutomountServiceAccountToken = &no
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &group}
	p.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds, Audience: "test"}},
	}}}}}
	key := create(t, ns, p)
	logged(t, key, "main", "ready")
	if node.kubelet.Isolation().Users {
		wantLines(t, output(t, key, "main"), "/token/token 640 0:65532")
	}
	logged(t, key, "other", "ls error: open /token: no such file or directory\n")
	before := read(t, key, "token", "token")
	node.kubelet.Advance(key, time.Duration(seconds)*time.Second*9/10)
	for deadline := time.Now().Add(patience); read(t, key, "token", "token") == before; <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the token is the same")
		}
	}
}

// TestGroups: whom files belong to, and who reads them.
func TestGroups(t *testing.T) {
	t.Parallel()
	k, ns := start(t)
	if !k.Isolation().Users {
		t.Skip(k.Isolation())
	}
	createSecret(t, ns, "s", map[string]string{"a": "value"})
	mode, user, group := int32(0o400), int64(1000), int64(2000)
	p := podOf(mounted(tool("main", "id", "stat /s/a", "cat /s/a", "write /e/file x", "stat /e/file", "write /tmp/file x", "write /data/file x", "chown /tmp/file"),
		corev1.VolumeMount{Name: "s", MountPath: "/s"}, corev1.VolumeMount{Name: "e", MountPath: "/e"}))
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &group, SupplementalGroups: []int64{7}}
	p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: &mode}}}, emptyDir("e")}
	key := create(t, ns, p)
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "id 1000 1000 [7 2000]", "/s/a 440 0:2000", "/s/a: value", "/e/file 644 1000:2000",
		"write error: open /data/file: permission denied", "chown error: chown /tmp/file: operation not permitted")

	p = podOf(mounted(tool("main", "cat /s/a"), corev1.VolumeMount{Name: "s", MountPath: "/s"}))
	p.Name, p.Spec.SecurityContext = "stranger", &corev1.PodSecurityContext{RunAsUser: &user}
	p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: &mode}}}}
	key = create(t, ns, p)
	until(t, key, "its end", finished)
	wantLines(t, output(t, key, "main"), "cat error: open /s/a: permission denied")
}
