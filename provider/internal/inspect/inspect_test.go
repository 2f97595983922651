package inspect_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

// canary is what registries and pull secrets of these tests say. It must be in no error.
const canary = "canary-77ab02"

const schema = `{"type":"object","properties":{"size":{"type":"string"}},"required":["size"],"additionalProperties":false}`

// shop is a real registry on the loopback interface, with a door in front of it.
type shop struct {
	host string
	mu   sync.Mutex
	seen []string
	door func(http.ResponseWriter, *http.Request) bool
}

// newShop starts one. The door, if any, answers a request itself or lets it through.
func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	inside := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.Path)
		door := s.door
		s.mu.Unlock()
		if door == nil || door(w, r) {
			inside.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.host = strings.TrimPrefix(server.URL, "http://")
	return s
}

func (s *shop) guard(door func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.door = door
}

// requests returns how many there were since the last call.
func (s *shop) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.seen)
	s.seen = nil
	return n
}

// password lets only those in who know it.
func (s *shop) password(user, password string) {
	s.guard(func(w http.ResponseWriter, r *http.Request) bool {
		u, p, _ := r.BasicAuth()
		if u == user && p == password {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"`+canary+`"}]}`, http.StatusUnauthorized)
		return false
	})
}

func picture(t *testing.T, os, arch string, labels map[string]string) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: os, Architecture: arch, Config: v1.Config{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// push puts an image, or an index of several, under a name, and returns the reference and the digest.
func (s *shop) push(t *testing.T, repository string, images ...v1.Image) (string, string) {
	t.Helper()
	ref, err := name.ParseReference(s.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	var digest v1.Hash
	if len(images) == 1 {
		err = remote.Write(ref, images[0])
		digest, _ = images[0].Digest()
	} else {
		index := v1.ImageIndex(empty.Index)
		for _, img := range images {
			config, _ := img.ConfigFile()
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}}})
		}
		err = remote.WriteIndex(ref, index)
		digest, _ = index.Digest()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.requests()
	return ref.String(), digest.String()
}

// secrets are those of an API server.
type secrets map[client.ObjectKey]*corev1.Secret

func (s secrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, ok := s[key]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	secret.DeepCopyInto(object.(*corev1.Secret))
	return nil
}

func (secrets) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nothing is listed")
}

func dockerConfig(host, user, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return &corev1.Secret{
		Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, auth)},
	}
}

func loopback() inspect.Egress {
	return inspect.Egress{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, Proxy: direct}
}

func direct(*http.Request) (*url.URL, error) { return nil, nil }

func newInspector(options inspect.Options) *inspect.Inspector {
	if options.Live == nil {
		options.Live = secrets{}
	}
	if options.Egress.Networks == nil && options.Egress.Registries == nil {
		options.Egress = loopback()
	}
	return inspect.New(options)
}

// wantClass checks the failure of a read.
func wantClass(t *testing.T, err error, want inspect.Class) {
	t.Helper()
	var got inspect.Class
	if e, ok := errors.AsType[*inspect.Error](err); ok {
		got = e.Class
	}
	if got != want {
		t.Errorf("the class is %q, not %q: %v", got, want, err)
	}
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("the error says what a registry or a Secret did: %v", err)
	}
}

func TestLabels(t *testing.T) {
	s := newShop(t)
	ref, digest := s.push(t, "set/machine:1", picture(t, "linux", "amd64", map[string]string{
		"io.captf.variables-schema": schema, "io.captf.role": "machine", "other": "label",
	}))
	i := newInspector(inspect.Options{})
	got, err := i.Inspect(t.Context(), inspect.Request{Namespace: "a", Image: ref})
	if err != nil {
		t.Fatal(err)
	}
	want := &inspect.Image{Digest: digest, Labels: map[string]string{"io.captf.variables-schema": schema, "io.captf.role": "machine"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	read, at, err := i.VariablesSchema(t.Context(), "a", nil, ref)
	if err != nil || at != digest || read == nil || read.Properties["size"] == nil {
		t.Errorf("the schema is %v, %s, %v", read, at, err)
	}
	plain, _ := s.push(t, "set/plain:1", picture(t, "linux", "amd64", nil))
	if read, _, err := i.VariablesSchema(t.Context(), "a", nil, plain); err != nil || read != nil {
		t.Errorf("an image without schema has %v, %v", read, err)
	}
	wrong, _ := s.push(t, "set/wrong:1", picture(t, "linux", "amd64", map[string]string{"io.captf.variables-schema": `{"type":"string"}`}))
	_, _, err = i.VariablesSchema(t.Context(), "a", nil, wrong)
	wantClass(t, err, inspect.ClassLabel)
	if e, ok := errors.AsType[*inspect.Error](err); !ok || !e.Permanent() || e.Detail == "" {
		t.Errorf("an invalid label: %v", err)
	}
}

func TestPlatforms(t *testing.T) {
	s := newShop(t)
	of := func(os, arch string) v1.Image {
		return picture(t, os, arch, map[string]string{"io.captf.runtime": os + "/" + arch})
	}
	cases := map[string]struct {
		images []v1.Image
		want   string
		class  inspect.Class
	}{
		"its own":     {[]v1.Image{of("windows", "arm64"), of("linux", "amd64"), of("linux", "arm64")}, "linux/arm64", ""},
		"first linux": {[]v1.Image{of("windows", "amd64"), of("linux", "s390x"), of("linux", "amd64")}, "linux/s390x", ""},
		"single":      {[]v1.Image{of("linux", "amd64")}, "linux/amd64", ""},
		"none":        {[]v1.Image{of("windows", "amd64"), of("darwin", "arm64")}, "", inspect.ClassPlatform},
	}
	i := newInspector(inspect.Options{Architecture: "arm64"})
	for name, c := range cases {
		ref, _ := s.push(t, "p/"+strings.ReplaceAll(name, " ", "-")+":1", c.images...)
		got, err := i.Inspect(t.Context(), inspect.Request{Image: ref})
		wantClass(t, err, c.class)
		if err == nil && got.Labels["io.captf.runtime"] != c.want {
			t.Errorf("%s: the image is %s, not %s", name, got.Labels["io.captf.runtime"], c.want)
		}
	}
}

func TestPullSecrets(t *testing.T) {
	s := newShop(t)
	ref, _ := s.push(t, "private/machine:1", picture(t, "linux", "amd64", nil))
	s.password("robot", canary)
	port := s.host[strings.LastIndex(s.host, ":"):]
	legacy := dockerConfig("", "", "")
	legacy.Type, legacy.Data = corev1.SecretTypeDockercfg, map[string][]byte{
		corev1.DockerConfigKey: fmt.Appendf(nil, `{%q:{"username":"robot","password":%q}}`, s.host, canary),
	}
	helper := dockerConfig("elsewhere.example", "robot", canary)
	helper.Data[corev1.DockerConfigJsonKey] = []byte(`{"auths":{},"credsStore":"captf-must-not-run","credHelpers":{"` + s.host + `":"captf-must-not-run"}}`)
	all := map[string]*corev1.Secret{
		"host":      dockerConfig(s.host, "robot", canary),
		"path":      dockerConfig(s.host+"/private", "robot", canary),
		"glob":      dockerConfig("127.0.*.1"+port, "robot", canary),
		"legacy":    legacy,
		"elsewhere": dockerConfig("elsewhere.example", "robot", canary),
		"otherpath": dockerConfig(s.host+"/public", "robot", canary),
		"wrong":     dockerConfig(s.host, "robot", "no"),
		"broken":    {Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":"` + canary)}},
		"opaque":    {Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"x": []byte(canary)}},
		"helper":    helper,
	}
	live := secrets{}
	for name, secret := range all {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: "a", Name: name}
		live[client.ObjectKey{Namespace: "a", Name: name}] = secret
	}
	cases := map[string]inspect.Class{
		"host": "", "path": "", "glob": "", "legacy": "", "missing,host": "", "elsewhere,opaque,host": "",
		"": inspect.ClassUnauthorized, "missing": inspect.ClassUnauthorized, "elsewhere": inspect.ClassUnauthorized,
		"otherpath": inspect.ClassUnauthorized, "wrong": inspect.ClassUnauthorized, "opaque": inspect.ClassUnauthorized,
		"helper": inspect.ClassUnauthorized, "broken": inspect.ClassPullSecret, "host,broken": inspect.ClassPullSecret,
	}
	for names, want := range cases {
		var refs []corev1.LocalObjectReference
		for name := range strings.SplitSeq(names, ",") {
			refs = append(refs, corev1.LocalObjectReference{Name: name})
		}
		t.Run("with "+names, func(t *testing.T) {
			_, err := newInspector(inspect.Options{Live: live}).Inspect(t.Context(), inspect.Request{Namespace: "a", PullSecrets: refs, Image: ref})
			wantClass(t, err, want)
		})
	}
}

// What one namespace may read tells another nothing, even of the same image by digest.
func TestAccessIsOfTheNamespace(t *testing.T) {
	s := newShop(t)
	_, digest := s.push(t, "private/machine:1", picture(t, "linux", "amd64", map[string]string{"io.captf.role": canary}))
	s.password("robot", "secret")
	secret := dockerConfig(s.host, "robot", "secret")
	i := newInspector(inspect.Options{Live: secrets{{Namespace: "a", Name: "pull"}: secret}})
	pull := []corev1.LocalObjectReference{{Name: "pull"}}
	for _, ref := range []string{s.host + "/private/machine:1", s.host + "/private/machine@" + digest} {
		if _, err := i.Inspect(t.Context(), inspect.Request{Namespace: "a", PullSecrets: pull, Image: ref}); err != nil {
			t.Fatal(err)
		}
		_, err := i.Inspect(t.Context(), inspect.Request{Namespace: "b", PullSecrets: pull, Image: ref})
		wantClass(t, err, inspect.ClassUnauthorized)
		_, err = i.Inspect(t.Context(), inspect.Request{Namespace: "a", Image: ref})
		wantClass(t, err, inspect.ClassUnauthorized)
	}
}

func TestCaches(t *testing.T) {
	s := newShop(t)
	ref, digest := s.push(t, "set/machine:1", picture(t, "linux", "amd64", map[string]string{"io.captf.role": "machine"}))
	clock := clocktesting.NewFakeClock(time.Now())
	i := newInspector(inspect.Options{Clock: clock})
	read := func(namespace, ref string) int {
		t.Helper()
		if _, err := i.Inspect(t.Context(), inspect.Request{Namespace: namespace, Image: ref}); err != nil {
			t.Fatal(err)
		}
		return s.requests()
	}
	steps := []struct {
		name      string
		namespace string
		ref       string
		after     time.Duration
		asks      bool
	}{
		{"first", "a", ref, 0, true},
		{"again", "a", ref, 0, false},
		{"another namespace", "b", ref, 0, true},
		{"before ten minutes", "a", ref, 9*time.Minute + 59*time.Second, false},
		{"after ten minutes", "a", ref, time.Second, true},
		{"by digest", "a", s.host + "/set/machine@" + digest, 0, true},
		{"by digest, a day later", "a", s.host + "/set/machine@" + digest, 24 * time.Hour, false},
	}
	for _, step := range steps {
		clock.Step(step.after)
		if n := read(step.namespace, step.ref); (n > 0) != step.asks {
			t.Errorf("%s: %d requests", step.name, n)
		}
	}
	// A tag that moved is seen after ten minutes.
	_, moved := s.push(t, "set/machine:1", picture(t, "linux", "amd64", map[string]string{"io.captf.role": "cluster"}))
	clock.Step(inspect.TagAge)
	got, err := i.Inspect(t.Context(), inspect.Request{Namespace: "a", Image: ref})
	if err != nil || got.Digest != moved || got.Labels["io.captf.role"] != "cluster" {
		t.Errorf("after the tag moved: %v, %v", got, err)
	}
}

func TestFailuresAreRemembered(t *testing.T) {
	s := newShop(t)
	clock := clocktesting.NewFakeClock(time.Now())
	i := newInspector(inspect.Options{Clock: clock})
	req := inspect.Request{Namespace: "a", Image: s.host + "/set/machine:1"}
	read := func(req inspect.Request) int {
		t.Helper()
		_, err := i.Inspect(t.Context(), req)
		wantClass(t, err, inspect.ClassNotFound)
		return s.requests()
	}
	if read(req) == 0 || read(req) != 0 {
		t.Error("a failure is not remembered")
	}
	retry := req
	retry.Retry = true
	if read(retry) == 0 {
		t.Error("a retry does not ask")
	}
	clock.Step(inspect.FailureAge - time.Second)
	if read(req) != 0 {
		t.Error("a failure is forgotten too soon")
	}
	clock.Step(time.Second)
	if read(req) == 0 {
		t.Error("a failure is not forgotten after a minute")
	}
	s.push(t, "set/machine:1", picture(t, "linux", "amd64", nil))
	clock.Step(inspect.FailureAge)
	if _, err := i.Inspect(t.Context(), req); err != nil {
		t.Errorf("once the image is there: %v", err)
	}
}

// A caller that cannot wait leaves; the read goes on for the next one.
func TestSlowRegistry(t *testing.T) {
	s := newShop(t)
	ref, digest := s.push(t, "set/machine:1", picture(t, "linux", "amd64", nil))
	open := make(chan struct{})
	s.guard(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-open:
		case <-r.Context().Done():
		}
		return true
	})
	clock := clocktesting.NewFakeClock(time.Now())
	i := newInspector(inspect.Options{Clock: clock})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := i.Inspect(ctx, inspect.Request{Image: ref})
	wantClass(t, err, inspect.ClassTimeout)
	// One that could wait no longer than the read has taken already does not wait at all.
	clock.Step(time.Minute)
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = i.Inspect(ctx, inspect.Request{Image: ref})
	wantClass(t, err, inspect.ClassTimeout)
	if ctx.Err() != nil {
		t.Error("it waited")
	}
	close(open)
	got, err := i.Inspect(t.Context(), inspect.Request{Image: ref})
	if err != nil || got.Digest != digest {
		t.Errorf("once the registry answers: %v, %v", got, err)
	}
}

// Many that need the same image read it once.
func TestOneReadAtATime(t *testing.T) {
	s := newShop(t)
	ref, _ := s.push(t, "set/machine:1", picture(t, "linux", "amd64", nil))
	i := newInspector(inspect.Options{})
	if _, err := newInspector(inspect.Options{}).Inspect(t.Context(), inspect.Request{Image: ref}); err != nil {
		t.Fatal(err)
	}
	once := s.requests()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := i.Inspect(t.Context(), inspect.Request{Image: ref}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.requests(); n != once {
		t.Errorf("50 reads ask %d times, one asks %d times", n, once)
	}
}

func TestRefused(t *testing.T) {
	s := newShop(t)
	big, _ := s.push(t, "set/big:1", picture(t, "linux", "amd64", map[string]string{"filler": strings.Repeat("x", inspect.MaxConfig)}))
	ok, _ := s.push(t, "set/ok:1", picture(t, "linux", "amd64", nil))
	answers := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v2/" {
				return true
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return false
		}
	}
	cases := map[string]struct {
		ref  string
		door func(http.ResponseWriter, *http.Request) bool
		want inspect.Class
	}{
		"config over 1 MiB": {big, nil, inspect.ClassTooLarge},
		"no such image":     {s.host + "/set/none:1", nil, inspect.ClassNotFound},
		"not a reference":   {"Not A Reference", nil, inspect.ClassReference},
		"directory":         {"oci:/etc", nil, inspect.ClassReference},
		"archive":           {"tarball:/etc/passwd", nil, inspect.ClassReference},
		"forbidden":         {ok, answers(http.StatusForbidden, canary), inspect.ClassUnauthorized},
		"broken":            {ok, answers(http.StatusInternalServerError, canary), inspect.ClassUnavailable},
		"web page":          {ok, answers(http.StatusOK, "<html>"+canary), inspect.ClassContent},
		"nobody there":      {"127.0.0.1:1/set/ok:1", nil, inspect.ClassUnavailable},
		"too many requests": {ok, answers(http.StatusTooManyRequests, canary), inspect.ClassRateLimited},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s.guard(c.door)
			_, err := newInspector(inspect.Options{}).Inspect(t.Context(), inspect.Request{Image: c.ref})
			wantClass(t, err, c.want)
		})
	}
}

// The manager is no way into the network that it runs in (B-936).
func TestEgress(t *testing.T) {
	s := newShop(t)
	ref, _ := s.push(t, "set/machine:1", picture(t, "linux", "amd64", nil))
	port := s.host[strings.LastIndex(s.host, ":"):]
	elsewhere := func(status int, to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v2/" {
				return true
			}
			http.Redirect(w, r, to, status)
			return false
		}
	}
	token := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://127.0.0.2`+port+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	only := inspect.Egress{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Proxy: direct}
	listed := func(registries ...string) inspect.Egress {
		e, err := inspect.ParseEgress(registries, []string{"127.0.0.0/8", "::1/128"})
		if err != nil {
			t.Fatal(err)
		}
		e.Proxy = direct
		return e
	}
	proxy := inspect.Egress{Registries: []string{"*"}, Proxy: func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: s.host}, nil }}
	proxy.Registries = nil
	cases := map[string]struct {
		egress inspect.Egress
		ref    string
		door   func(http.ResponseWriter, *http.Request) bool
		want   inspect.Class
	}{
		"allowed":                     {only, ref, nil, ""},
		"not public":                  {inspect.Egress{Proxy: direct}, ref, nil, inspect.ClassPolicy},
		"a name of it":                {inspect.Egress{Proxy: direct}, "localhost" + port + "/set/machine:1", nil, inspect.ClassPolicy},
		"redirect to another address": {only, ref, elsewhere(http.StatusTemporaryRedirect, "http://127.0.0.2"+port+"/v2/set/machine/manifests/1"), inspect.ClassPolicy},
		"redirect to a name":          {only, ref, elsewhere(http.StatusFound, "https://localhost.:1/"), inspect.ClassUnavailable},
		"redirect to the cloud's own": {only, ref, elsewhere(http.StatusFound, "https://169.254.169.254/latest/meta-data"), inspect.ClassPolicy},
		// The library refuses it before our policy is asked.
		"token server elsewhere":        {only, ref, token, inspect.ClassUnavailable},
		"registry on the list":          {listed("127.0.0.1" + port), ref, nil, ""},
		"registry by pattern":           {listed("127.*.0.1" + port), ref, nil, ""},
		"registry off the list":         {listed("registry.example", "*.registry.example"), ref, nil, inspect.ClassPolicy},
		"same host, other port":         {listed("127.0.0.1"), ref, nil, inspect.ClassPolicy},
		"address asked of a proxy":      {proxy, "169.254.169.254/set/machine:1", nil, inspect.ClassPolicy},
		"this machine asked of a proxy": {proxy, "localhost" + port + "/set/machine:1", nil, inspect.ClassPolicy},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s.guard(c.door)
			i := inspect.New(inspect.Options{Live: secrets{}, Egress: c.egress})
			_, err := i.Inspect(t.Context(), inspect.Request{Image: c.ref})
			wantClass(t, err, c.want)
		})
	}
}

func TestParseEgress(t *testing.T) {
	for _, wrong := range [][2]string{{"https://registry.example", ""}, {"registry.example/repository", ""}, {"", ""}, {"[", ""}, {"registry.example", "10.0.0.1"}, {"registry.example", "10.0.0.0/64"}} {
		var networks []string
		if wrong[1] != "" {
			networks = []string{wrong[1]}
		}
		if _, err := inspect.ParseEgress([]string{wrong[0]}, networks); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
