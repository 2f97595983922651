package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/containerd/stargz-snapshotter/estargz"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/regular"
)

// contentPrograms is what the layer of an image of programs holds, for people.
const contentPrograms = "programs"

// Program is an executable of an image of programs.
type Program struct {
	// Name is the program's path in the image, such as manager: it lies in the
	// root directory.
	Name string
	// Path is where the executable lies on this machine. The platform it is for
	// is read from it.
	Path string
}

// ProgramOptions are what an image of programs is made of.
type ProgramOptions struct {
	// Programs are the executables, the same names for every platform.
	Programs []Program
	// Entrypoint is the name of the one that the image runs.
	Entrypoint string
	// About are the labels and annotations of org.opencontainers.image.
	About About
	// Labels are other labels.
	Labels map[string]string
	// Created, Level, TempDir and Progress are those of Options.
	Created  time.Time
	Level    int
	TempDir  string
	Progress func(line string)
}

// Programs makes an image index of static programs, with an image for each
// platform that there are executables for: no shell, no libraries, a user that
// is not root, one layer. Close the result when it was written.
func Programs(ctx context.Context, o ProgramOptions) (_ *Result, err error) {
	platforms, programs, err := o.inspect()
	if err != nil {
		return nil, err
	}
	b := &builder{Options: Options{
		Platforms: platforms, About: o.About, Labels: o.Labels, Created: o.Created, Level: cmp.Or(o.Level, DefaultLevel), Progress: o.Progress,
	}}
	if b.Created.IsZero() {
		b.Created = time.Unix(0, 0)
	}
	b.Created = b.Created.UTC().Truncate(time.Second)
	scratch, err := os.MkdirTemp(o.TempDir, "captf-image-")
	if err != nil {
		return nil, fmt.Errorf("making the scratch directory: %w", err)
	}
	b.result = &Result{writer: layerWriter{dir: scratch, created: b.Created, level: b.Level}}
	defer func() {
		if err != nil {
			err = errors.Join(cause(ctx, err), b.result.Close())
		}
	}()
	var images []v1.Image
	for _, p := range platforms {
		img, err := b.programs(ctx, p, programs[p], o.Entrypoint)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", p, err)
		}
		images = append(images, img)
	}
	return b.result, b.index(images)
}

// inspect checks the programs and sorts them by their platforms.
func (o ProgramOptions) inspect() ([]image.Platform, map[image.Platform][]Program, error) {
	programs := map[image.Platform][]Program{}
	names := map[string]bool{}
	for _, p := range o.Programs {
		if p.Name == "" || strings.ContainsAny(p.Name, "/\x00") || p.Name == "." || p.Name == ".." {
			return nil, nil, wrong("Programs", "%q is no name of a program", p.Name)
		}
		f, _, err := regular.Open(p.Path)
		if err != nil {
			return nil, nil, wrong("Programs", "reading program: %w", err)
		}
		info, err := binary.Read(f)
		_ = f.Close()
		if err != nil {
			return nil, nil, wrong("Programs", "reading program %s: %w", p.Path, err)
		}
		if info.Interpreter != "" {
			return nil, nil, wrong("Programs", "reading program %s: it needs %s, which the image does not have: build it with CGO_ENABLED=0", p.Path, info.Interpreter)
		}
		if slices.ContainsFunc(programs[info.Platform], func(other Program) bool { return other.Name == p.Name }) {
			return nil, nil, wrong("Programs", "there are two programs %s for %s", p.Name, info.Platform)
		}
		programs[info.Platform] = append(programs[info.Platform], p)
		names[p.Name] = true
	}
	if len(programs) == 0 {
		return nil, nil, wrong("Programs", "there are none")
	}
	if !names[o.Entrypoint] {
		return nil, nil, wrong("Entrypoint", "there is no program %q", o.Entrypoint)
	}
	var platforms []image.Platform
	for p, list := range programs {
		if len(list) != len(names) {
			return nil, nil, wrong("Programs", "for %s there are %d programs of %d", p, len(list), len(names))
		}
		platforms = append(platforms, p)
	}
	slices.SortFunc(platforms, func(a, b image.Platform) int { return strings.Compare(a.String(), b.String()) })
	return platforms, programs, nil
}

// programs makes the image of a platform.
func (b *builder) programs(ctx context.Context, p image.Platform, programs []Program, entrypoint string) (v1.Image, error) {
	tmp := dir("tmp", 0)
	tmp.mode = 0o1777
	entries := append(users(), tmp, dir("etc", 0))
	for _, program := range programs {
		info, err := os.Stat(program.Path)
		if err != nil {
			return nil, fmt.Errorf("reading program: %w", err)
		}
		e := file(program.Name, program.Path, info, 0)
		e.mode = execMode
		entries = append(entries, e)
	}
	l, err := b.write(ctx, contentPrograms, p.String(), entries)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer: l, MediaType: types.OCILayer, Annotations: map[string]string{estargz.TOCJSONDigestAnnotation: l.toc},
	})
	if err != nil {
		return nil, err
	}
	appended, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	labels := b.annotations()
	maps.Copy(labels, b.Labels)
	created := v1.Time{Time: b.Created}
	config := &v1.ConfigFile{
		Architecture: p.Arch, OS: p.OS, Created: created, RootFS: appended.RootFS,
		History: []v1.History{{Created: created, CreatedBy: "captf release", Comment: contentPrograms}},
		Config:  v1.Config{User: image.User, WorkingDir: "/", Entrypoint: []string{"/" + entrypoint}, Labels: labels},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	img = mutate.Annotations(img, b.annotations()).(v1.Image) //nolint:forcetypeassert // it returns the type that it is given
	report := PlatformResult{Platform: p, Layers: []LayerResult{{Content: contentPrograms, Digest: l.digest, Size: l.size}}}
	if report.Digest, err = img.Digest(); err != nil {
		return nil, err
	}
	if report.Size, err = sizeOf(img); err != nil {
		return nil, err
	}
	b.result.Labels = labels
	b.result.Platforms = append(b.result.Platforms, report)
	return img, nil
}

// users are the files by which programs know the users of an image without a base.
func users() []entry {
	return []entry{
		text("etc/passwd", []byte(fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\n%s:x:%d:%d:%s:%s:/usr/sbin/nologin\n",
			image.UserName, image.UserID, image.UserID, image.UserName, image.Home))),
		text("etc/group", []byte(fmt.Sprintf("root:x:0:\n%s:x:%d:\n", image.UserName, image.UserID))),
	}
}
