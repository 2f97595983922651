//go:build unix

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// required are the pages that must exist; others are found.
var required = []string{"README.md", "CONTRIBUTING.md"}

// blockTime is far more than any shown command needs.
const blockTime = 10 * time.Minute

// TestPages runs the commands of each page in a scratch directory of the page's own, in order, and follows its links. Of
// the READMEs of modules and examples only the links are followed: their commands are for who has copied them.
func TestPages(t *testing.T) {
	pages := readPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		t.Run(name, func(t *testing.T) {
			p := pages[name]
			for _, l := range p.links {
				if err := checkLink(pages, name, l.target); err != nil {
					t.Errorf("%s: line %d: %v", name, l.line, err)
				}
			}
			if !ourCommands(name) {
				return
			}
			for _, err := range p.errs {
				t.Errorf("%s: %s", name, err)
			}
			if !t.Failed() && slices.ContainsFunc(p.blocks, func(b block) bool { return b.action == run }) {
				r := reader{tools: commands(t), tempDir: t.TempDir, repository: func() string { return copyOfRepository(t) }}
				if err := r.read(t.Context(), p); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				for _, note := range r.notes {
					t.Logf("%s: %s", name, note)
				}
			}
		})
	}
}

// ourCommands tells whether a page's commands are for who has this repository or the installed commands.
func ourCommands(name string) bool {
	return strings.HasPrefix(name, "docs/") || !strings.Contains(name, "/")
}

// readPages parses the pages beside README.md, those of docs/ and the README of every other directory.
func readPages(t *testing.T) map[string]page {
	t.Helper()
	pages := map[string]page{}
	for _, name := range sources(t) {
		if path.Ext(name) != ".md" || (!ourCommands(name) && path.Base(name) != "README.md") || strings.Contains(name, "/testdata/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = parsePage(content)
	}
	for _, name := range required {
		if _, ok := pages[name]; !ok {
			t.Errorf("%s does not exist", name)
		}
	}
	return pages
}

// checkLink says what is wrong with a link from a page: a relative one must lead to a file of the repository, and to an
// anchor in it if it names one. Nothing outside the repository is asked.
func checkLink(pages map[string]page, from, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("link %q: %w", target, err)
	}
	if u.Scheme != "" || u.Host != "" {
		return nil
	}
	file := from
	if u.Path != "" {
		file = path.Join(path.Dir(from), u.Path)
		if path.IsAbs(u.Path) || !filepath.IsLocal(file) {
			return fmt.Errorf("link %q leads out of the repository", target)
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("link %q: %s does not exist", target, file)
		}
	}
	if p, ok := pages[file]; ok && u.Fragment != "" && !p.anchors[u.Fragment] {
		return fmt.Errorf("link %q: %s has no heading #%s", target, file, u.Fragment)
	}
	return nil
}

// reader does what a page says.
type reader struct {
	tools      string        // a directory to put first on PATH
	tempDir    func() string // makes an empty directory
	repository func() string // makes a copy of the repository
	notes      []string      // what was not done, and why
}

// read runs a page's blocks. The first that fails ends it, because the later ones build on it.
func (r *reader) read(ctx context.Context, p page) error {
	scratch, home, repo := r.tempDir(), r.tempDir(), ""
	output := ""
	for _, b := range p.blocks {
		switch b.action {
		case show:
		case write:
			file := filepath.Join(scratch, filepath.FromSlash(b.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(b.body), 0o644); err != nil {
				return err
			}
		case skip:
			r.notes = append(r.notes, fmt.Sprintf("line %d: not run: %s", b.line, b.reason))
		case run:
			dir := scratch
			if b.repo {
				if repo == "" {
					repo = r.repository()
				}
				dir = repo
			}
			var code int
			var err error
			output, code, err = runBlock(ctx, r.tools, dir, home, b.body)
			if err != nil {
				return fmt.Errorf("line %d: %w; it printed:\n%s", b.line, err, output)
			}
			if code != b.exit {
				return fmt.Errorf("line %d: exit code %d, want %d; it printed:\n%s", b.line, code, b.exit, output)
			}
		case expect:
			if !matches(b.body, output) {
				return fmt.Errorf("line %d: the page expects\n%s\nbut the command printed\n%s", b.line, b.body, output)
			}
		}
	}
	return nil
}

// runBlock runs a script as a reader would, with tools first on PATH and a home directory of its own.
func runBlock(ctx context.Context, tools, dir, home, script string) (output string, code int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, blockTime, fmt.Errorf("stopped after %v", blockTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	// A script that is stopped takes with it what it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(),
		"PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+home, "NO_COLOR=1")
	// What a script leaves running must not hold the test for ever.
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return out.String(), exit.ExitCode(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.String(), 0, err
}

// commands is a directory with what a reader has on PATH: captf, tfcapi-lint and the provider's runner built from this tree, and OpenTofu.
func commands(t *testing.T) string {
	t.Helper()
	dir, err := buildCommands()
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	links := map[string]string{"tofu": runtimetest.OpenTofu(t).Path}
	for _, name := range []string{"captf", "tfcapi-lint", "runner"} {
		links[name] = filepath.Join(dir, name)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	return tools
}

// buildCommands builds the commands once for all pages.
var buildCommands = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "captf-docs-")
	if err != nil {
		return "", err
	}
	builtCommands = dir
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./sdk/cmd/captf", "./lint/cmd/tfcapi-lint", "./provider/cmd/runner")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the commands: %w\n%s", err, out)
	}
	return dir, nil
})

// builtCommands is the directory to remove after all tests.
var builtCommands string

func TestMain(m *testing.M) {
	code := m.Run()
	if builtCommands != "" {
		if err := os.RemoveAll(builtCommands); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// copyOfRepository copies the sources, so that a page's command may write among them.
func copyOfRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range sources(t) {
		from, to := filepath.Join(root, filepath.FromSlash(name)), filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if info.Mode().Type() == fs.ModeSymlink {
			target, err := os.Readlink(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
