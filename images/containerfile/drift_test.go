package containerfile_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/containerfile"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
)

// stage is what a stage of a Containerfile leads to, as far as a Job cares.
type stage struct {
	User, WorkingDir string
	Labels           map[string]string
	// Links are made by RUN ln -s, Copied are destinations of COPY and their owner.
	Links, Copied map[string]string
}

func (s stage) clone() stage {
	out := stage{User: s.User, WorkingDir: s.WorkingDir, Labels: map[string]string{}, Links: map[string]string{}, Copied: map[string]string{}}
	maps.Copy(out.Labels, s.Labels)
	maps.Copy(out.Links, s.Links)
	maps.Copy(out.Copied, s.Copied)
	return out
}

var (
	label    = regexp.MustCompile(`([a-z0-9.-]+)="([^"]*)"`)
	link     = regexp.MustCompile(`ln -s (\S+) (\S+)`)
	variable = regexp.MustCompile(`\$\{([A-Z_]+)\}`)
)

// evaluate runs the part of the language that our Containerfiles use. bases are
// images by name, args the build arguments; an argument without a value is an error.
func evaluate(t *testing.T, text []byte, target string, bases map[string]stage, args map[string]string) stage {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if n := len(lines); n > 0 && strings.HasSuffix(lines[n-1], `\`) {
			lines[n-1] = strings.TrimSuffix(lines[n-1], `\`) + " " + strings.TrimSpace(line)
			continue
		}
		lines = append(lines, line)
	}
	given := map[string]string{"BUILDPLATFORM": "linux/amd64", "TARGETOS": "linux", "TARGETARCH": "amd64"}
	maps.Copy(given, args)
	expand := func(s string) string {
		return variable.ReplaceAllStringFunc(s, func(v string) string {
			value, ok := given[variable.FindStringSubmatch(v)[1]]
			if !ok {
				t.Fatalf("%s has no value in %q", v, s)
			}
			return value
		})
	}
	stages := map[string]stage{}
	var current stage
	name := ""
	for _, line := range lines {
		instruction, rest, _ := strings.Cut(line, " ")
		switch instruction {
		case "ARG":
			key, value, hasDefault := strings.Cut(rest, "=")
			if _, ok := given[key]; !ok && hasDefault {
				given[key] = strings.Trim(value, `"`)
			}
		case "FROM":
			stages[name] = current
			fields := strings.Fields(expand(rest))
			if strings.HasPrefix(fields[0], "--platform=") {
				fields = fields[1:]
			}
			from, ok := stages[fields[0]]
			if !ok {
				if from, ok = bases[fields[0]]; !ok {
					t.Fatalf("FROM %s: there is no such image", fields[0])
				}
			}
			current, name = from.clone(), ""
			if len(fields) == 3 {
				name = fields[2]
			}
		case "LABEL":
			for _, m := range label.FindAllStringSubmatch(rest, -1) {
				current.Labels[m[1]] = expand(m[2])
			}
		case "USER":
			current.User = rest
		case "WORKDIR":
			current.WorkingDir = rest
		case "RUN":
			for _, m := range link.FindAllStringSubmatch(rest, -1) {
				current.Links[m[2]] = m[1]
			}
		case "COPY":
			fields, owner := strings.Fields(rest), "0:0"
			for _, f := range fields {
				if value, ok := strings.CutPrefix(f, "--chown="); ok {
					owner = value
				}
			}
			current.Copied[strings.TrimSuffix(fields[len(fields)-1], "/")] = owner
		case "ENTRYPOINT": // a Job replaces it
		default:
			t.Fatalf("the instruction %s is not known here", instruction)
		}
		stages[name] = current
	}
	out, ok := stages[target]
	if !ok {
		t.Fatalf("there is no stage %q", target)
	}
	return out
}

// TestNoDrift: the Containerfiles and our builder lead to the same image, for every
// role and runtime.
func TestNoDrift(t *testing.T) {
	const version = "1.12.6"
	for _, r := range image.Runtimes() {
		baseFile, err := containerfile.Render(containerfile.Base, r)
		if err != nil {
			t.Fatal(err)
		}
		base := evaluate(t, baseFile, "", map[string]stage{"ubuntu:26.04": {}}, map[string]string{"RUNTIME_VERSION": version})
		moduleFile, err := containerfile.Render(containerfile.Module, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range contract.Roles() {
			t.Run(fmt.Sprintf("%s/%s", r, role), func(t *testing.T) {
				args := map[string]string{"BASE": "base", "ROLE": string(role), "IMAGE_SOURCE": "https://git.example/m", "IMAGE_REVISION": "abc", "IMAGE_VERSION": "v1.0.0"}
				want := evaluate(t, moduleFile, string(role), map[string]stage{"base": base}, args)
				if diff := cmp.Diff(want, evaluate(t, moduleFile, "", map[string]stage{"base": base}, args)); diff != "" {
					t.Errorf("--target and ROLE lead to different images:\n%s", diff)
				}
				got := built(t, r, role, version)
				// The builder also says when the image was made; a label without a value says nothing.
				delete(got.Labels, "org.opencontainers.image.created")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("images (-Containerfile +captf image build):\n%s", diff)
				}
			})
		}
	}
}

// built is what our own builder makes of the same.
func built(t *testing.T, r image.Runtime, role contract.Role, version string) stage {
	t.Helper()
	ref := imagetest.Layout(t, filepath.Join("..", "..", "modules", "noop", string(role)), role, func(o *build.Options) {
		o.Runtime, o.RuntimeVersion = r, version
		o.About = build.About{Source: "https://git.example/m", Revision: "abc", Version: "v1.0.0"}
		o.Mirror = build.MirrorMake // which an image whose module requires nothing runs nothing for
		for p := range o.Binaries {
			file := filepath.Join(t.TempDir(), string(r))
			if err := os.WriteFile(file, imagetest.Program(t, p.String(), ""), 0o755); err != nil {
				t.Fatal(err)
			}
			o.Binaries[p] = file
		}
	})
	src, err := source.Open(t.Context(), ref, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	img, err := src.Image(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := rootfs.Open(t.Context(), img, rootfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	out := stage{
		User: img.Config.Config.User, WorkingDir: img.Config.Config.WorkingDir, Labels: img.Labels(),
		Links: map[string]string{}, Copied: map[string]string{},
	}
	target, err := files.ReadLink(image.RuntimePath)
	if err != nil {
		t.Fatal(err)
	}
	out.Links[image.RuntimePath] = target
	for _, p := range []string{target, image.ModulePath, image.ProvidersPath} {
		e, err := files.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		out.Copied[p] = fmt.Sprintf("%d:%d", e.UID, e.GID)
	}
	return out
}
