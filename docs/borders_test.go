package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path of the product's module.
const module = "github.com/captf-toolkit/captf"

// kubernetes are the module paths of Kubernetes' clients and objects. Quantities and names, which image labels have, are
// plain values (k8s.io/apimachinery/pkg/api/...), and so is sigs.k8s.io/yaml: these may be used everywhere.
var kubernetes = []string{
	"k8s.io/client-go/...", "k8s.io/api/...", "k8s.io/apimachinery/pkg/apis/...", "k8s.io/apimachinery/pkg/runtime",
	"sigs.k8s.io/controller-runtime/...", "sigs.k8s.io/cluster-api/...",
}

// borders say what a part of the tree may not import, directly or through others, in the product's own code (tests may
// import more). Paths without a dot in their first element are ours. A path ends in /... to include what is below it.
// The picture of these rules is in docs/architecture.md.
var borders = []border{
	{
		from:   []string{"contract/..."},
		only:   []string{"contract/..."},
		reason: "the contract is data and rules that everything else stands on",
	},
	{
		from: []string{"contract/...", "lint/...", "scaffold/...", "sdk/...", "images/..."}, except: []string{"sdk/diagnose/...", "sdk/move/...", "sdk/cmd/captf"},
		never:  kubernetes,
		reason: "authors' tools are small and know no cluster; captf's commands for clusters are the exception",
	},
	{
		from:   []string{"contract/...", "lint/...", "scaffold/...", "sdk/...", "images/..."},
		never:  []string{"provider/..."},
		reason: "the provider is built on the toolkit, not the other way round",
	},
	{
		from:   []string{"provider/..."},
		never:  []string{"lint/...", "scaffold/...", "sdk/harness/...", "sdk/cmd/..."},
		reason: "the manager runs what passed the authors' tools and does not carry them",
	},
	{
		from:   []string{"provider/testenv/..."},
		only:   []string{"provider/testenv/...", "images/source/...", "images/rootfs/...", "images/unpack", "images/ctxio", "images/binary", "images/regular"},
		reason: "a control plane and a kubelet for tests serve any project's tests",
	},
	{
		from: []string{"provider/api/...", "provider/internal/...", "provider/cmd/..."}, except: []string{"provider/internal/realtest/..."},
		never:  []string{"provider/testenv/..."},
		reason: "the manager and the runner carry no control plane",
	},
	{
		from:   []string{"sdk/move"},
		never:  []string{"k8s.io/client-go/...", "sigs.k8s.io/controller-runtime/...", "sigs.k8s.io/cluster-api/...", "os/exec", "net", "net/http"},
		direct: true,
		reason: "the rules of a move read objects by an interface, so that files can stand in for an API server",
	},
	{
		from:   []string{"sdk/module/..."},
		only:   []string{"sdk/module/...", "contract/..."},
		reason: "reading a module knows no rule about modules",
	},
	{
		from:   []string{"sdk/runtime/..."},
		only:   []string{"sdk/runtime/..."},
		reason: "running a runtime knows neither roles nor the contract; the provider's runner uses it too",
	},
	{
		from: []string{"lint/..."}, except: []string{"lint/image/...", "lint/cmd/...", "lint/internal/..."},
		only:   []string{"lint/...", "contract/...", "sdk/module/...", "sdk/harness/balancer"},
		reason: "linting a module reads files and runs nothing",
	},
	{
		from:   []string{"lint/image/...", "lint/cmd/...", "lint/internal/..."},
		only:   []string{"lint/...", "contract/...", "sdk/module/...", "sdk/harness/balancer", "images/source/...", "images/rootfs/...", "images/binary", "images/ctxio", "images/regular", "images/sign", "images/referrer"},
		reason: "linting an image reads it and makes none",
	},
	{
		from:   []string{"images/..."},
		only:   []string{"images/...", "contract/...", "sdk/module/...", "sdk/runtime/..."},
		reason: "an image is made from a module and a runtime; commands join it with the linter",
	},
	{
		from:   []string{"scaffold/..."},
		only:   []string{"scaffold/...", "contract/..."},
		reason: "templates render from the contract's tables",
	},
	{
		from:   []string{"sdk/harness/..."},
		only:   []string{"sdk/harness/...", "sdk/module/...", "sdk/runtime/...", "sdk/report/...", "sdk/simcloud/...", "contract/..."},
		reason: "the harness judges what modules do, not how they are written",
	},
	{
		from:   []string{"sdk/simcloud/..."},
		only:   []string{"sdk/simcloud/..."},
		reason: "a simulated cloud knows providers and their schemas, and nothing of what they are used for",
	},
	{
		from: []string{"..."}, except: []string{"sdk/simcloud/...", "sdk/harness/runner/...", "sdk/cmd/captf/...", "sdk/contracttest/...", "images/imagetest/...", "provider/internal/realtest/internal/tool"},
		never:  []string{"sdk/simcloud/...", "github.com/hashicorp/terraform-plugin-go/..."},
		reason: "the plugin protocol is for simulating providers; the engine, the linter and the scaffolder work without it",
	},
	{
		from:   []string{"sdk/diagnose"},
		never:  []string{"k8s.io/client-go/...", "sigs.k8s.io/...", "net", "net/http", "os/exec"},
		direct: true,
		reason: "a diagnosis is a function of objects, and its tests need no cluster; sdk/diagnose/kube reads one",
	},
	{
		from:   []string{"sdk/diagnose/..."},
		only:   []string{"sdk/diagnose/..."},
		reason: "a cluster of any provider is judged by its objects alone",
	},
	{
		from:   []string{"sdk/report/..."},
		never:  []string{"sdk/runtime/...", "sdk/module/...", "lint/...", "scaffold/..."},
		reason: "a report shows a result and makes none",
	},
	{
		from: []string{"..."}, except: []string{"sdk/harness/kcp/...", "sdk/harness/rke2/...", "sdk/cmd/captf/...", "sdk/contracttest/...", "sdk/harness/scenario/internal/docgen"},
		never:  []string{"sdk/harness/kcp/...", "sdk/harness/rke2/..."},
		reason: "a control plane is a table that commands choose; the engine and the runner work with any",
	},
	{
		from: []string{"..."}, except: []string{"contract/golden", "sdk/runtime/runtimetest", "images/imagetest", "sdk/module/readmetest", "sdk/contracttest/...", "provider/testenv/tools", "provider/internal/controllers/controllerstest"},
		never: []string{
			"testing", "contract/golden", "sdk/runtime/runtimetest", "images/imagetest", "sdk/module/readmetest", "provider/testenv/tools",
			"provider/internal/controllers/controllerstest", "provider/internal/controllers/instant",
		},
		direct: true,
		reason: "support for tests does not belong in binaries",
	},
	{
		from:   []string{"contract/...", "lint/...", "scaffold/...", "sdk/module/..."},
		never:  []string{"os/exec", "net", "net/http", "plugin", "unsafe"},
		direct: true,
		reason: "checking or writing a module starts no process and opens no connection",
	},
}

// border is a rule about imports. Either only or never is set.
type border struct {
	from   []string // packages it is about
	except []string // and among them these not
	only   []string // of our packages, they may import these and no others
	never  []string // they may not import these
	direct bool     // what their imports import does not count
	reason string
}

// golist is what the rules need of a package.
type golist struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
	DepOnly    bool
	Error      *struct{ Err string }
}

// listPackages asks the go command for our packages with all that they import.
func listPackages(t *testing.T) []golist {
	t.Helper()
	sources(t) // makes the sources inputs of this test
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Deps,DepOnly,Error", "./...")
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, errs.String())
	}
	var all []golist
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p golist
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		if p.DepOnly {
			continue
		}
		if p.Error != nil {
			t.Fatalf("listing %s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
}

func TestBorders(t *testing.T) {
	packages := listPackages(t)
	for _, p := range packages {
		for _, problem := range crossings(borders, p) {
			t.Error(problem)
		}
	}
}

// crossings lists where a package's imports break rules.
func crossings(rules []border, p golist) []string {
	var found []string
	from := short(p.ImportPath)
	for _, r := range rules {
		if !matchesAny(r.from, from) || matchesAny(r.except, from) {
			continue
		}
		imports := p.Deps
		if r.direct {
			imports = p.Imports
		}
		for _, path := range imports {
			ours := path == module || strings.HasPrefix(path, module+"/")
			to := short(path)
			if (ours && r.only != nil && !matchesAny(r.only, to)) || matchesAny(r.never, to) {
				how := "imports"
				if !slices.Contains(p.Imports, path) {
					how = "imports, through others,"
				}
				found = append(found, fmt.Sprintf("%s %s %s: %s", from, how, to, r.reason))
			}
		}
	}
	return found
}

// short is the import path as the rules write it.
func short(path string) string {
	return strings.TrimPrefix(path, module+"/")
}

// matchesAny tells whether a path is one of the patterns.
func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "...")
		if !open {
			return pattern == path
		}
		prefix = strings.TrimSuffix(prefix, "/")
		return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// folders are the top-level folders that may hold packages.
var folders = []string{"contract", "lint", "scaffold", "sdk", "images", "provider", "modules", "examples", "docs"}

// vague are names that say nothing about what is in a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

func TestPackagePlaces(t *testing.T) {
	for _, p := range listPackages(t) {
		elements := strings.Split(short(p.ImportPath), "/")
		if !slices.Contains(folders, elements[0]) {
			t.Errorf("%s: packages live in %s", p.ImportPath, strings.Join(folders, ", "))
		}
		for _, element := range elements {
			if slices.Contains(vague, element) {
				t.Errorf("%s: a package is named after what it provides, not %s", p.ImportPath, element)
			}
		}
	}
}

// TestOnlyTheTableKnowsItsControlPlane holds the harness to its promise that a control plane is a table: outside the
// package of that table nothing names what it is about, comments and tests aside.
func TestOnlyTheTableKnowsItsControlPlane(t *testing.T) {
	for _, tt := range []struct {
		word, home string
		// except are packages that name control planes in data of theirs, or another's spelling.
		except []string
	}{
		{"kubeadm", "sdk/harness/kcp/...", nil},
		{"rke2", "sdk/harness/rke2/...", []string{"sdk/harness/kcp", "sdk/harness/requirements", "sdk/harness/scenario/..."}},
	} {
		for _, p := range listPackages(t) {
			if !matchesAny([]string{"sdk/harness/...", "sdk/report/..."}, short(p.ImportPath)) || matchesAny(append([]string{tt.home}, tt.except...), short(p.ImportPath)) {
				continue
			}
			for _, name := range p.GoFiles {
				source, err := os.ReadFile(filepath.Join(p.Dir, name))
				if err != nil {
					t.Fatal(err)
				}
				for _, place := range mentions(name, source, tt.word) {
					t.Errorf("%s/%s names %s: only %s may know what one control plane does", short(p.ImportPath), place, tt.word, tt.home)
				}
			}
		}
	}
}

// mentions lists the places of a word in a source file's identifiers and literals.
func mentions(name string, source []byte, word string) []string {
	var places []string
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile(name, -1, len(source)), source, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return places
		}
		if (tok == token.IDENT || tok == token.STRING) && strings.Contains(strings.ToLower(literal), word) {
			places = append(places, files.Position(pos).String())
		}
	}
}

func TestCrossings(t *testing.T) {
	rules := []border{
		{from: []string{"a/..."}, except: []string{"a/b"}, only: []string{"a/...", "c"}, reason: "one"},
		{from: []string{"d"}, never: []string{"k8s.io/..."}, reason: "two"},
		{from: []string{"d"}, never: []string{"os/exec"}, direct: true, reason: "three"},
	}
	tests := []struct {
		name string
		p    golist
		want []string
	}{
		{"what is allowed", golist{ImportPath: module + "/a", Deps: []string{module + "/a/b", module + "/c", "k8s.io/api", "os/exec"}}, nil},
		{"a neighbour", golist{ImportPath: module + "/a/x", Imports: []string{module + "/d"}, Deps: []string{module + "/d"}}, []string{"a/x imports d: one"}},
		{"a neighbour's child", golist{ImportPath: module + "/a", Deps: []string{module + "/c/d"}}, []string{"a imports, through others, c/d: one"}},
		{"a name that begins alike", golist{ImportPath: module + "/ab", Deps: []string{module + "/d"}}, nil},
		{"the exception", golist{ImportPath: module + "/a/b", Deps: []string{module + "/d"}}, nil},
		{"a foreign module", golist{ImportPath: module + "/d", Deps: []string{"k8s.io/api/core/v1"}}, []string{"d imports, through others, k8s.io/api/core/v1: two"}},
		{"a direct import", golist{ImportPath: module + "/d", Imports: []string{"os/exec"}, Deps: []string{"os/exec"}}, []string{"d imports os/exec: three"}},
		{"an indirect one where only direct ones count", golist{ImportPath: module + "/d", Deps: []string{"os/exec"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := crossings(rules, tt.p); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBordersHaveReasons(t *testing.T) {
	for _, b := range borders {
		if b.reason == "" || (b.only == nil) == (b.never == nil) {
			t.Errorf("the rule about %v needs a reason and either only or never", b.from)
		}
	}
}

func TestMentions(t *testing.T) {
	source := []byte("package p\n\n// kubeadm in a comment is fine.\nvar x = \"uses Kubeadm\"\n\nfunc kubeadmJoin() {}\n")
	if got, want := mentions("p.go", source, "kubeadm"), []string{"p.go:4:9", "p.go:6:6"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
