package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volume is a volume of a pod: a directory whose content we may have to keep up to date.
type volume struct {
	spec *corev1.Volume
	dir  string
	// readOnly tells that containers cannot write to it, whatever they say.
	readOnly bool

	mu      sync.Mutex
	content map[string]projected
	tokens  map[string]token // by path
}

// projected is a file of a volume.
type projected struct {
	data []byte
	mode os.FileMode
	// uid owns it; -1 is the node.
	uid int
}

type token struct {
	text    string
	refresh time.Time
}

// setUpVolumes makes every volume of the pod. An error tells which cannot be made yet.
func (w *worker) setUpVolumes(ctx context.Context) error {
	for i := range w.pod.Spec.Volumes {
		spec := &w.pod.Spec.Volumes[i]
		v := w.volumes[spec.Name]
		if v == nil {
			v = &volume{spec: spec, dir: filepath.Join(w.dir, "volumes", spec.Name), readOnly: spec.EmptyDir == nil, tokens: map[string]token{}}
			w.volumes[spec.Name] = v
		}
		if err := w.setUp(ctx, v); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", spec.Name, err)
		}
	}
	return nil
}

func (w *worker) setUp(ctx context.Context, v *volume) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	group := w.fsGroup()
	if v.spec.EmptyDir != nil {
		return makeDir(v.dir, 0o777, group)
	}
	content, err := w.contentOf(ctx, v)
	if err != nil {
		return err
	}
	if v.content != nil && maps.EqualFunc(v.content, content, func(a, b projected) bool {
		return a.mode == b.mode && a.uid == b.uid && string(a.data) == string(b.data)
	}) {
		return nil
	}
	if err := makeDir(v.dir, 0o755, group); err != nil {
		return err
	}
	if err := replace(v.dir, content, group); err != nil {
		return err
	}
	v.content = content
	return nil
}

// refreshVolumes keeps contents and tokens up to date until ctx ends, as kubelets do now and then.
func (w *worker) refreshVolumes(ctx context.Context) {
	ticker := time.NewTicker(w.k.o.VolumeSync)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, v := range w.volumes {
			if v.spec.EmptyDir != nil {
				continue
			}
			if err := w.setUp(ctx, v); err != nil && ctx.Err() == nil {
				w.warn("FailedMount", "MountVolume.SetUp failed for volume %q : %v", v.spec.Name, err)
			}
		}
	}
}

// fsGroup is the group that volumes belong to, -1 without one, or when the node cannot give files away.
func (w *worker) fsGroup() int {
	if c := w.pod.Spec.SecurityContext; c != nil && c.FSGroup != nil && w.k.allUsers {
		return int(*c.FSGroup)
	}
	return -1
}

// contentOf is what a volume has to hold now.
func (w *worker) contentOf(ctx context.Context, v *volume) (map[string]projected, error) {
	b := &builder{w: w, v: v, ctx: ctx, out: map[string]projected{}}
	switch s := v.spec; {
	case s.Secret != nil:
		b.mode = modeOf(s.Secret.DefaultMode)
		b.secret(s.Secret.SecretName, s.Secret.Items, s.Secret.Optional)
	case s.ConfigMap != nil:
		b.mode = modeOf(s.ConfigMap.DefaultMode)
		b.configMap(s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
	case s.DownwardAPI != nil:
		b.mode = modeOf(s.DownwardAPI.DefaultMode)
		b.downward(s.DownwardAPI.Items)
	case s.Projected != nil:
		b.mode = modeOf(s.Projected.DefaultMode)
		for _, p := range s.Projected.Sources {
			switch {
			case p.Secret != nil:
				b.secret(p.Secret.Name, p.Secret.Items, p.Secret.Optional)
			case p.ConfigMap != nil:
				b.configMap(p.ConfigMap.Name, p.ConfigMap.Items, p.ConfigMap.Optional)
			case p.DownwardAPI != nil:
				b.downward(p.DownwardAPI.Items)
			case p.ServiceAccountToken != nil:
				b.token(p.ServiceAccountToken)
			}
		}
	}
	return b.out, b.err
}

func modeOf(m *int32) os.FileMode {
	if m == nil {
		return 0o644
	}
	return os.FileMode(*m) & 0o777 //nolint:gosec // bounded by the mask
}

// builder collects the content of a volume until something is missing.
type builder struct {
	w    *worker
	v    *volume
	ctx  context.Context //nolint:containedctx // it lives for one call
	mode os.FileMode
	out  map[string]projected
	err  error
}

func (b *builder) secret(name string, items []corev1.KeyToPath, optional *bool) {
	if b.err != nil {
		return
	}
	data, _, err := b.w.secret(b.ctx, name, optional)
	b.keys("secret", name, data, err, items, optional)
}

func (b *builder) configMap(name string, items []corev1.KeyToPath, optional *bool) {
	if b.err != nil {
		return
	}
	data, _, err := b.w.configMap(b.ctx, name, optional)
	b.keys("configmap", name, data, err, items, optional)
}

func (b *builder) keys(kind, name string, data map[string][]byte, err error, items []corev1.KeyToPath, optional *bool) {
	if err != nil {
		b.err = err
		return
	}
	if items == nil {
		for k, v := range data {
			b.out[k] = projected{data: v, mode: b.mode, uid: -1}
		}
		return
	}
	for _, item := range items {
		v, ok := data[item.Key]
		switch {
		case ok:
			b.add(item.Path, v, item.Mode)
		case optional == nil || !*optional:
			b.err = fmt.Errorf("references non-existent %s key: %s of %q", kind, item.Key, name)
			return
		}
	}
}

func (b *builder) add(path string, data []byte, mode *int32) {
	m := b.mode
	if mode != nil {
		m = modeOf(mode)
	}
	b.out[filepath.Clean(path)] = projected{data: data, mode: m, uid: -1}
}

func (b *builder) downward(items []corev1.DownwardAPIVolumeFile) {
	for _, item := range items {
		if b.err != nil {
			return
		}
		var v string
		switch {
		case item.FieldRef != nil:
			v, b.err = b.w.field(item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			v, b.err = b.w.resourceField(nil, item.ResourceFieldRef)
		}
		b.add(item.Path, []byte(v), item.Mode)
	}
}

// token requests a token for the pod, and a new one when four fifths of its time are over.
func (b *builder) token(p *corev1.ServiceAccountTokenProjection) {
	if b.err != nil {
		return
	}
	t, ok := b.v.tokens[p.Path]
	if !ok || time.Now().After(t.refresh) {
		if t, b.err = b.w.requestToken(b.ctx, p); b.err != nil {
			return
		}
		b.v.tokens[p.Path] = t
	}
	file := projected{data: []byte(t.text), mode: b.mode, uid: -1}
	// It is for the pod's user only, if there is one.
	if b.w.fsGroup() >= 0 {
		file.mode = 0o600
	} else if user, ok := b.w.onlyUser(); ok && b.w.k.allUsers {
		file.mode, file.uid = 0o600, user
	}
	b.out[filepath.Clean(p.Path)] = file
}

func (w *worker) requestToken(ctx context.Context, p *corev1.ServiceAccountTokenProjection) (token, error) {
	var audiences []string
	if p.Audience != "" {
		audiences = []string{p.Audience}
	}
	now := time.Now()
	t, err := w.k.clients.CoreV1().ServiceAccounts(w.pod.Namespace).CreateToken(ctx, w.pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{
			Audiences: audiences, ExpirationSeconds: p.ExpirationSeconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: w.pod.Name, UID: w.pod.UID},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return token{}, fmt.Errorf("failed to fetch token: %w", err)
	}
	life := t.Status.ExpirationTimestamp.Sub(now)
	return token{text: t.Status.Token, refresh: now.Add(life * 4 / 5)}, nil
}

// onlyUser is the user of all containers, if they have the same.
func (w *worker) onlyUser() (int, bool) {
	user := int64(-1)
	for _, c := range w.specs() {
		u := w.userOf(c)
		if u == nil || user >= 0 && *u != user {
			return 0, false
		}
		user = *u
	}
	return int(user), user >= 0
}

// secret reads a Secret of the pod's namespace; one that is optional may be missing.
func (w *worker) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, bool, error) {
	s, err := w.k.clients.CoreV1().Secrets(w.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, false, missing("secret", name, optional, err)
	}
	return s.Data, true, nil
}

func (w *worker) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, bool, error) {
	c, err := w.k.clients.CoreV1().ConfigMaps(w.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, false, missing("configmap", name, optional, err)
	}
	out := map[string][]byte{}
	for k, v := range c.Data {
		out[k] = []byte(v)
	}
	maps.Copy(out, c.BinaryData)
	return out, true, nil
}

func missing(kind, name string, optional *bool, err error) error {
	switch {
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading %s %q: %w", kind, name, err)
	case optional != nil && *optional:
		return nil
	}
	return fmt.Errorf("%s %q not found", kind, name)
}

// makeDir makes a directory with exactly that mode. With a group it belongs to it, and so does what is made in it.
func makeDir(dir string, mode os.FileMode, group int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if group >= 0 {
		if err := os.Chown(dir, -1, group); err != nil {
			return err
		}
		mode |= 0o070 | os.ModeSetgid
	}
	return os.Chmod(dir, mode)
}

// dataLink is the link through which all files of a volume change at once.
const dataLink = "..data"

// replace changes the content of a volume at once: files are links through ..data to a directory, as kubelets do it.
func replace(dir string, content map[string]projected, group int) error {
	current, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	if err := makeDir(current, 0o755, group); err != nil {
		return err
	}
	top := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		f := content[name]
		first, rest, _ := strings.Cut(name, string(filepath.Separator))
		top[first] = true
		if rest != "" {
			if err := makeDir(filepath.Join(current, filepath.Dir(name)), 0o755, group); err != nil {
				return err
			}
		}
		if err := writeFile(filepath.Join(current, name), f, group); err != nil {
			return err
		}
	}
	before, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	next := filepath.Join(dir, dataLink+"_"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.Symlink(filepath.Base(current), next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	for name := range top {
		if err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !top[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, filepath.Base(before)))
}

func writeFile(file string, f projected, group int) error {
	if err := os.WriteFile(file, f.data, 0o600); err != nil {
		return err
	}
	mode := f.mode
	if group >= 0 {
		mode |= 0o440
	}
	if group >= 0 || f.uid >= 0 {
		if err := os.Chown(file, f.uid, group); err != nil {
			return err
		}
	}
	return os.Chmod(file, mode)
}
