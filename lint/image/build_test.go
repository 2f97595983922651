package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/imagetest"
)

// spec describes an image: the file image.yaml of a case, on top of
// testdata/good.yaml.
type spec struct {
	// Role is what it is checked for, Platforms those that it is built for.
	Role      string   `yaml:"role"`
	Platforms []string `yaml:"platforms"`
	// User, Env, Entrypoint and Labels are of the configuration. A label that is
	// "-" is removed.
	User       *string           `yaml:"user"`
	Env        []string          `yaml:"env"`
	Entrypoint []string          `yaml:"entrypoint"`
	Labels     map[string]string `yaml:"labels"`
	// Module is the directory that the module is copied from.
	Module string `yaml:"module"`
	// Files are added in a layer above, by their path; Remove are whited out.
	Files  map[string]entry `yaml:"files"`
	Remove []string         `yaml:"remove"`
	// On has what differs on a platform.
	On map[string]spec `yaml:"on"`
	// Check is which platform is checked: os/arch, all, or empty for the default.
	Check string `yaml:"check"`
	// Single makes an image without an index.
	Single bool `yaml:"single"`
}

// entry is a file in an image.
type entry struct {
	// Text is its content; Program is an executable for that platform; Link and
	// Hard are the targets of links; Dir makes a directory, Device a device.
	Text    string `yaml:"text"`
	Program string `yaml:"program"`
	Loader  string `yaml:"loader"`
	Link    string `yaml:"link"`
	Hard    string `yaml:"hard"`
	Dir     bool   `yaml:"dir"`
	Device  bool   `yaml:"device"`
	Mode    *int64 `yaml:"mode"`
	Owner   *int   `yaml:"owner"`
}

func readSpec(t testing.TB, file string) spec {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	var s spec
	if err := d.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

var epoch = time.Unix(0, 0)

// layer makes a layer of files and whiteouts.
func layer(t testing.TB, files map[string]entry, remove []string) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, p := range remove {
		dir, name := path.Split(strings.TrimPrefix(p, "/"))
		writeEntry(t, w, tar.Header{Typeflag: tar.TypeReg, Name: dir + ".wh." + name, Mode: 0o644}, nil)
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		e := files[p]
		h := tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(p, "/"), Mode: 0o644}
		content := []byte(e.Text)
		switch {
		case e.Program != "":
			content, h.Mode = imagetest.Program(t, e.Program, e.Loader), 0o755
		case e.Link != "":
			h.Typeflag, h.Linkname, h.Mode, content = tar.TypeSymlink, e.Link, 0o777, nil
		case e.Hard != "":
			h.Typeflag, h.Linkname, content = tar.TypeLink, strings.TrimPrefix(e.Hard, "/"), nil
		case e.Device:
			h.Typeflag, h.Devmajor, h.Devminor, content = tar.TypeChar, 1, 3, nil
		case e.Dir:
			h.Typeflag, h.Mode, h.Name, content = tar.TypeDir, 0o755, h.Name+"/", nil
		}
		if e.Mode != nil {
			h.Mode = *e.Mode
		}
		if e.Owner != nil {
			h.Uid, h.Gid = *e.Owner, *e.Owner
		}
		writeEntry(t, w, h, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func writeEntry(t testing.TB, w *tar.Writer, h tar.Header, content []byte) {
	t.Helper()
	h.Size, h.ModTime = int64(len(content)), epoch
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
}

// imageOf builds the image of one platform from the specs, later ones on top.
func imageOf(t testing.TB, platform string, specs ...spec) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	config := v1.ConfigFile{OS: "linux", RootFS: v1.RootFS{Type: "layers"}}
	config.OS, config.Architecture, _ = strings.Cut(platform, "/")
	config.Config.Labels = map[string]string{}
	var layers []v1.Layer
	for _, s := range specs {
		if s.User != nil {
			config.Config.User = *s.User
		}
		config.Config.Env = append(config.Config.Env, s.Env...)
		if s.Entrypoint != nil {
			config.Config.Entrypoint = s.Entrypoint
		}
		for key, value := range s.Labels {
			if value == "-" {
				delete(config.Config.Labels, key)
				continue
			}
			config.Config.Labels[key] = value
		}
		files := maps.Clone(s.Files)
		for p, e := range files {
			if e.Program == "same" {
				e.Program = platform
				files[p] = e
			}
		}
		if len(files)+len(s.Remove) > 0 {
			layers = append(layers, layer(t, files, s.Remove))
		}
	}
	img, err := mutate.ConfigFile(img, &config)
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layers...); err != nil {
		t.Fatal(err)
	}
	return img
}

// moduleFiles returns the files of a module by their path in an image.
func moduleFiles(t testing.TB, dir string) map[string]entry {
	t.Helper()
	out := map[string]entry{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		out[path.Join(contractimage.ModulePath, filepath.ToSlash(rel))] = entry{Text: string(b)}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("reading the module %s: %v", dir, err)
	}
	return out
}

// writeImage builds what the case describes as an OCI layout and returns the
// reference.
func writeImage(t testing.TB, s spec) string {
	t.Helper()
	good := readSpec(t, filepath.Join("testdata", "good.yaml"))
	if s.Platforms == nil {
		s.Platforms = good.Platforms
	}
	if s.Module == "" {
		s.Module = good.Module
	}
	module := spec{Files: moduleFiles(t, s.Module)}
	dir := t.TempDir()
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range s.Platforms {
		p, err := contractimage.ParsePlatform(name)
		if err != nil {
			t.Fatal(err)
		}
		img := imageOf(t, name, good, module, s, s.On[name])
		if s.Single {
			if err := out.AppendImage(img); err != nil {
				t.Fatal(err)
			}
			return "oci:" + dir
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}},
		})
	}
	if err := out.AppendIndex(index); err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}
