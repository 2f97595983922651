package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

// start starts a container. A *waitError says why it cannot be started yet; any other error is for good.
func (w *worker) start(ctx context.Context, c *container, img *image) (*jail.Process, error) {
	env, err := w.environment(ctx, c.spec, img)
	if err != nil {
		return nil, &waitError{"CreateContainerConfigError", err.Error()}
	}
	user, err := w.identity(c.spec, img)
	if err != nil {
		return nil, &waitError{"CreateContainerConfigError", err.Error()}
	}
	dir := filepath.Join(w.dir, "containers", c.spec.Name, strconv.Itoa(c.attempt))
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, &waitError{"CreateContainerError", err.Error()}
	}
	readOnly := c.spec.SecurityContext != nil && c.spec.SecurityContext.ReadOnlyRootFilesystem != nil && *c.spec.SecurityContext.ReadOnlyRootFilesystem
	// Files in a root that is mounted read-only cannot be changed, so they need not be copied.
	if err := clone(img.dir, root, readOnly && w.k.jailed, w.k.allUsers); err != nil {
		return nil, err
	}
	mounts, err := w.mounts(c, dir, env)
	if err != nil {
		return nil, &waitError{"CreateContainerConfigError", err.Error()}
	}
	args, err := command(c.spec, img, env)
	if err != nil {
		return nil, err
	}
	log := w.logFile(c.spec.Name, c.attempt)
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return nil, err
	}
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	workdir := cmp.Or(c.spec.WorkingDir, img.config.WorkingDir, "/")
	w.mu.Lock()
	c.id = fmt.Sprintf("testenv://%s/%s/%d", w.pod.UID, c.spec.Name, c.attempt)
	w.mu.Unlock()
	var p *jail.Process
	if w.k.jailed {
		p, err = jail.Start(jail.Spec{
			Root: root, ReadOnly: readOnly, Mounts: mounts, Hostname: hostname(w.pod), Args: args, Env: environ(env), Dir: workdir,
			UID: user.uid, GID: user.gid, Groups: user.groups, AllUsers: w.k.allUsers, Capabilities: capabilities(c.spec), Proc: w.k.proc,
		}, output)
	} else {
		p, err = w.startOpen(root, mounts, args, env, workdir, output)
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	c.process = p
	dead := w.dead.Err() != nil
	w.mu.Unlock()
	if dead {
		_ = p.Kill() // die did not see it
	}
	return p, nil
}

// command is what a container runs.
func command(c *corev1.Container, img *image, env map[string]string) ([]string, error) {
	program, args := c.Command, c.Args
	if len(program) == 0 {
		program = img.config.Entrypoint
		if len(args) == 0 {
			args = img.config.Cmd
		}
	}
	all := append(slices.Clone(program), args...)
	if len(all) == 0 {
		return nil, errors.New("no command specified")
	}
	for i := range all {
		if len(c.Command) > 0 || i >= len(program) { // what the image says is taken as it is
			all[i] = expand(all[i], env)
		}
	}
	return all, nil
}

// mounts are the volumes of a container and the files that every container has, outer ones first.
func (w *worker) mounts(c *container, dir string, env map[string]string) ([]jail.Mount, error) {
	files := map[string]string{
		"/etc/hosts":    "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.0.1\t" + hostname(w.pod) + "\n",
		"/etc/hostname": hostname(w.pod) + "\n",
	}
	if text, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		files["/etc/resolv.conf"] = string(text)
	}
	var out []jail.Mount
	for target, text := range files {
		file := filepath.Join(dir, path.Base(target))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // everybody reads it
			return nil, err
		}
		out = append(out, jail.Mount{Source: file, Target: target, ReadOnly: true, File: true})
	}
	message := w.messageFile(c)
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Chmod(message, 0o666); err != nil { //nolint:gosec // the container's user is another one
		return nil, err
	}
	out = append(out, jail.Mount{Source: message, Target: cmp.Or(c.spec.TerminationMessagePath, corev1.TerminationMessagePathDefault), File: true})
	for _, m := range c.spec.VolumeMounts {
		v := w.volumes[m.Name]
		if v == nil {
			return nil, fmt.Errorf("there is no volume %q", m.Name)
		}
		source, file, err := v.source(cmp.Or(m.SubPath, expand(m.SubPathExpr, env)), w.fsGroup())
		if err != nil {
			return nil, fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q: %w", m.Name, c.spec.Name, err)
		}
		target := path.Join("/", m.MountPath)
		out = slices.DeleteFunc(out, func(o jail.Mount) bool { return o.Target == target })
		out = append(out, jail.Mount{Source: source, Target: target, ReadOnly: m.ReadOnly || v.readOnly, File: file})
	}
	slices.SortStableFunc(out, func(a, b jail.Mount) int { return strings.Compare(a.Target, b.Target) })
	return out, nil
}

// source is the directory or file of a volume that is mounted. Links in it do not lead out of it.
func (v *volume) source(sub string, group int) (at string, file bool, err error) {
	if sub == "" {
		return v.dir, false, nil
	}
	at = filepath.Join(v.dir, sub)
	if !filepath.IsLocal(sub) {
		return "", false, fmt.Errorf("%q is not inside of the volume", sub)
	}
	if _, err := os.Lstat(at); errors.Is(err, os.ErrNotExist) && !v.readOnly {
		root, err := os.OpenRoot(v.dir)
		if err != nil {
			return "", false, err
		}
		defer root.Close()
		if err := root.MkdirAll(sub, 0o755); err != nil {
			return "", false, err
		}
		return at, false, makeDir(at, 0o755, group)
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return "", false, err
	}
	inside, err := filepath.EvalSymlinks(v.dir)
	if err != nil {
		return "", false, err
	}
	if rel, err := filepath.Rel(inside, at); err != nil || !filepath.IsLocal(rel) {
		return "", false, fmt.Errorf("%q is not inside of the volume", sub)
	}
	info, err := os.Stat(at)
	if err != nil {
		return "", false, err
	}
	return at, !info.IsDir(), nil
}

// startOpen starts a program without namespaces: paths of the image and of mounts are replaced by where they are on
// this machine, in arguments and variables. Paths that the program knows by itself lead to this machine.
func (w *worker) startOpen(root string, mounts []jail.Mount, args []string, env map[string]string, workdir string, output *os.File) (*jail.Process, error) {
	rewrite := func(s string) string { return rewritePaths(s, root, mounts) }
	env = maps.Clone(env)
	for k, v := range env {
		if k != "PATH" {
			env[k] = rewrite(v)
		}
	}
	var path []string
	for dir := range strings.SplitSeq(env["PATH"], ":") {
		path = append(path, filepath.Join(root, dir))
	}
	env["PATH"] = strings.Join(path, ":")
	program := args[0]
	if strings.Contains(program, "/") {
		program = rewrite(program)
	} else {
		for _, dir := range path {
			if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() {
				program = filepath.Join(dir, program)
				break
			}
		}
	}
	dir := rewrite(workdir)
	if dir == workdir {
		dir = filepath.Join(root, workdir)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as in an image
			return nil, err
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(w.dead), program)
	for _, a := range args[1:] {
		cmd.Args = append(cmd.Args, rewrite(a))
	}
	cmd.Dir, cmd.Env = dir, environ(env)
	return jail.Open(cmd, output)
}

// rewritePaths replaces the absolute paths in s that begin there or after one of = : , and are those of a mount or of
// the image.
func rewritePaths(s, root string, mounts []jail.Mount) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '/' || i > 0 && !strings.ContainsRune("=:, ", rune(s[i-1])) {
			b.WriteByte(s[i])
			i++
			continue
		}
		end := i + strings.IndexAny(s[i:]+" ", ":, ")
		b.WriteString(rewritePath(s[i:end], root, mounts))
		i = end
	}
	return b.String()
}

func rewritePath(p, root string, mounts []jail.Mount) string {
	for _, m := range slices.Backward(mounts) { // inner ones first
		if p == m.Target || strings.HasPrefix(p, strings.TrimSuffix(m.Target, "/")+"/") {
			return m.Source + strings.TrimPrefix(p, m.Target)
		}
	}
	if p != "/" {
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil {
			return filepath.Join(root, p)
		}
	}
	return p
}
