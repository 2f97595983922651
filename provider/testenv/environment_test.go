package testenv_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// childDir makes TestMain start a control plane with its files there, and then wait to be killed.
const childDir = "TESTENV_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		abandoned(dir)
	}
	os.Exit(tools.Main(m, testenv.Options{ControllerManager: true}))
}

// abandoned is the program that starts a control plane and does not stop it.
func abandoned(dir string) {
	env, err := testenv.Start(context.Background(), testenv.Options{Binaries: tools.Find, Dir: dir})
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	println("started", env.Dir())
	select {}
}

func clients(t *testing.T, c *rest.Config) kubernetes.Interface {
	t.Helper()
	cs, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// TestControllers has a Job make its pod, and the pod collected with its Job.
func TestControllers(t *testing.T) {
	env, ns, ctx := tools.Environment(t), tools.Namespace(t), t.Context()
	job, err := env.Clients().BatchV1().Jobs(ns).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := env.Clients().CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pods.Stop()
	pod := (<-pods.ResultChan()).Object.(*corev1.Pod)
	if !metav1.IsControlledBy(pod, job) {
		t.Errorf("pod %s is not controlled by the Job", pod.Name)
	}
	if got := pod.Spec.ServiceAccountName; got != "default" {
		t.Errorf("the pod has the service account %q: ServiceAccount admission does not run", got)
	}
	var mounted bool
	for _, v := range pod.Spec.Volumes {
		mounted = mounted || v.Projected != nil
	}
	if !mounted {
		t.Errorf("the pod has no token volume: %v", pod.Spec.Volumes)
	}
	background := metav1.DeletePropagationBackground
	if err := env.Clients().BatchV1().Jobs(ns).Delete(ctx, "job", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	for e := range pods.ResultChan() {
		if e.Type == "DELETED" {
			return
		}
	}
	t.Error("the pod was not collected")
}

// TestUsers checks that users, service accounts and what the kubeconfig files say are who they claim to be.
func TestUsers(t *testing.T) {
	env, ns, ctx := tools.Environment(t), tools.Namespace(t), t.Context()
	jane, err := env.AddUser("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clients(t, jane).CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v, want forbidden", err)
	}
	if _, err := env.Clients().RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Clients().RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"}, {Kind: "ServiceAccount", Name: "default", Namespace: ns}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account, err := env.ServiceAccountConfig(ctx, ns, "default")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := testenv.Kubeconfig(jane)
	if err != nil {
		t.Fatal(err)
	}
	read, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	file, err := clientcmd.BuildConfigFromFlags("", env.KubeconfigFile())
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"user": jane, "service account": account, "kubeconfig": read, "administrator's file": file} {
		if _, err := clients(t, config).CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, config := range map[string]*rest.Config{"user": jane, "service account": account, "kubeconfig": read} {
		if _, err := clients(t, config).CoreV1().Pods(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists pods: %v, want forbidden", name, err)
		}
	}
}

func widgets() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.test.example"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "test.example", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

func TestInstallCRDs(t *testing.T) {
	env, ctx := tools.Environment(t), t.Context()
	err := env.InstallCRDs(ctx, testenv.CRDs{
		Objects: []*apiextensionsv1.CustomResourceDefinition{widgets()},
		Edit:    func(d *apiextensionsv1.CustomResourceDefinition) { d.Labels = map[string]string{"edited": "yes"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(widgetKind("CustomResourceDefinitionList", "apiextensions.k8s.io/v1"))
	if err := c.List(ctx, list, client.MatchingLabels{"edited": "yes"}); err != nil || len(list.Items) != 1 {
		t.Errorf("the edited CRD: %v, %v", list.Items, err)
	}
	list.SetGroupVersionKind(widgetKind("WidgetList", "test.example/v1"))
	if err := c.List(ctx, list); err != nil {
		t.Errorf("listing widgets: %v", err)
	}
	for name, crds := range map[string]testenv.CRDs{
		"no such directory": {Paths: []string{filepath.Join(t.TempDir(), "none")}},
		"no CRDs":           {Paths: []string{t.TempDir()}},
	} {
		if err := env.InstallCRDs(ctx, crds); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestInstallWebhooks has the API server call a webhook of this process, whose manifest names a service.
func TestInstallWebhooks(t *testing.T) {
	env, ns, ctx := tools.Environment(t), tools.Namespace(t), t.Context()
	path, sideEffects := "/check", admissionv1.SideEffectClassNone
	serving, err := env.InstallWebhooks(ctx, testenv.Webhooks{Validating: []*admissionv1.ValidatingWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "test"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "check.test.example", SideEffects: &sideEffects, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "system", Name: "webhook", Path: &path}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, serving, path, &admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		if r.Name == "good" {
			return admission.Allowed("")
		}
		return admission.Denied("only good ones")
	})})
	for name, want := range map[string]string{"good": "", "bad": "only good ones"} {
		_, err := env.Clients().CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if got := errorText(err); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("creating %s: %q, want %q", name, got, want)
		}
	}
	if _, err := env.InstallWebhooks(ctx, testenv.Webhooks{Paths: []string{t.TempDir()}}); err == nil {
		t.Error("no webhooks in a directory: no error")
	}
}

// TestKilled kills a program that has a control plane: the guard leaves nothing of it, and without the guard the next
// start does.
func TestKilled(t *testing.T) {
	for _, withGuard := range []bool{true, false} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		env, ok := strings.CutPrefix(strings.TrimSpace(line), "started ")
		if err != nil || !ok {
			t.Fatalf("starting: %v, %s", err, line)
		}
		pids := testenv.Pids(env)
		t.Cleanup(func() { testenv.Kill(pids) })
		if len(pids) != 2 {
			t.Errorf("there are the processes %v, want two", pids)
		}
		if !withGuard {
			testenv.KillGuard(t, env)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if !withGuard {
			testenv.Sweep(dir)
		}
		for deadline := time.Now().Add(20 * time.Second); ; {
			_, err := os.Stat(env)
			if alive := testenv.Alive(pids); len(alive) == 0 && os.IsNotExist(err) {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("with guard %v: alive %v, directory %v", withGuard, alive, err)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	none, broken := filepath.Join(dir, "none"), filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho it has no memory\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ etcd, path, want string }{
		"a program that is not there": {etcd: none, want: "TESTENV_ETCD"},
		"not on PATH":                 {path: dir, want: "set TESTENV_ETCD"},
		"a program that fails":        {etcd: broken, want: "it has no memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TESTENV_ETCD", tc.etcd)
			t.Setenv("TESTENV_KUBE_APISERVER", broken)
			if tc.path != "" {
				t.Setenv("PATH", tc.path)
			}
			envs := t.TempDir()
			_, err := testenv.Start(t.Context(), testenv.Options{Dir: envs})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
			if left, err := os.ReadDir(envs); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}
