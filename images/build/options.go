package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/source"
)

// Options say what to build. Dir, Role, Contract and either Binaries or Base are
// needed.
type Options struct {
	// Dir is the module directory.
	Dir string
	// Role and Contract are what the module is written for.
	Role     contract.Role
	Contract string

	// Platforms are those of the image; empty means image.Platforms.
	Platforms []image.Platform
	// Binaries are the executables of the runtime on this machine. Together with
	// a base they replace its runtime.
	Binaries map[image.Platform]string
	// Runtime and RuntimeVersion are needed where the binaries or the labels of
	// the base do not tell, and are compared where they do.
	Runtime        image.Runtime
	RuntimeVersion string
	// Base is the reference of the image to build on, empty for none; Open says
	// how to open it.
	Base string
	Open source.Options
	// CABundle is a file with certificates of authorities in PEM form, for an
	// image without base.
	CABundle string

	// Mirror says where the provider mirror is from; empty means MirrorMake.
	Mirror MirrorMode
	// MirrorDir is the directory of MirrorDir.
	MirrorDir string
	// MirrorRuntime is the runtime to run for MirrorMake; empty means the binary
	// for this machine's platform, else the one on PATH.
	MirrorRuntime string
	// CLIConfig is a configuration file for that runtime; empty means none, also
	// not the user's.
	CLIConfig string

	// Capacity, NodeInfo and VariablesSchema are the values of the labels; an
	// empty one sets none.
	Capacity, NodeInfo, VariablesSchema string
	// About are the labels and annotations of org.opencontainers.image.
	About About
	// Labels are other labels.
	Labels map[string]string

	// Created is the time of everything in the image; the zero value means 1970.
	Created time.Time
	// Level is the compression level, 1 to 9; 0 means DefaultLevel.
	Level int
	// MaxFile is the largest file of the module that ships, in bytes; 0 means
	// DefaultMaxFile.
	MaxFile int64
	// TempDir is where layers are kept until the result is closed; empty means
	// the system's directory for temporary files.
	TempDir string
	// Progress gets a line for each step; nil is silent.
	Progress func(line string)
}

// About says what a module is and where it is from; empty fields are left out.
type About struct {
	Title, Description, Licenses, Source, Revision, Version, URL, Documentation, Vendor, Authors string
}

// annotations returns the fields as annotations.
func (a About) annotations() map[string]string {
	all := map[string]string{
		ocispec.AnnotationTitle: a.Title, ocispec.AnnotationDescription: a.Description, ocispec.AnnotationLicenses: a.Licenses,
		ocispec.AnnotationSource: a.Source, ocispec.AnnotationRevision: a.Revision, ocispec.AnnotationVersion: a.Version,
		ocispec.AnnotationURL: a.URL, ocispec.AnnotationDocumentation: a.Documentation,
		ocispec.AnnotationVendor: a.Vendor, ocispec.AnnotationAuthors: a.Authors,
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// OptionError says which option is wrong.
type OptionError struct {
	// Option is the field of Options.
	Option string
	Err    error
}

// Error implements error.
func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

func wrong(option, format string, args ...any) error {
	return &OptionError{Option: option, Err: fmt.Errorf(format, args...)}
}

// option marks an error as that of an option.
func option(name string, err error) error {
	if err == nil {
		return nil
	}
	return &OptionError{Option: name, Err: err}
}

// Versions, as https://semver.org has them, and tags, as the OCI distribution
// specification has them.
var (
	versionPattern = regexp.MustCompile(`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	tagPattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// maxCreated is the latest time that every tar format can hold.
const maxCreated = 1<<33 - 1

// check completes the options. Its errors are *OptionError.
func (o *Options) check() error {
	if o.Dir == "" {
		return wrong("Dir", "the module directory is missing")
	}
	if _, err := contract.ParseRole(string(o.Role)); err != nil {
		return wrong("Role", "%w", err)
	}
	if o.Contract == "" {
		return wrong("Contract", "the contract version is missing")
	}
	o.Contract = strings.TrimSpace(o.Contract)
	if len(o.Platforms) == 0 {
		o.Platforms = image.Platforms()
	}
	o.Platforms = slices.Clone(o.Platforms)
	slices.SortFunc(o.Platforms, func(a, b image.Platform) int { return strings.Compare(a.String(), b.String()) })
	o.Platforms = slices.Compact(o.Platforms)
	for _, p := range o.Platforms {
		if !p.Valid() || p.OS != "linux" {
			return wrong("Platforms", "there is no platform %s: modules run on Linux, such as linux/arm64", p)
		}
	}
	if err := o.checkRuntime(); err != nil {
		return err
	}
	switch o.Mirror = cmp.Or(o.Mirror, MirrorMake); o.Mirror {
	case MirrorMake, MirrorNone:
	case MirrorDir:
		if o.MirrorDir == "" {
			return wrong("MirrorDir", "the mirror directory is missing")
		}
	default:
		return wrong("Mirror", "there is no mirror mode %q", o.Mirror)
	}
	if o.Created.IsZero() {
		o.Created = time.Unix(0, 0)
	}
	if o.Created = o.Created.UTC().Truncate(time.Second); o.Created.Unix() < 0 || o.Created.Unix() > maxCreated {
		return wrong("Created", "the time %s is before 1970 or too late", o.Created.Format(time.RFC3339))
	}
	if o.Level = cmp.Or(o.Level, DefaultLevel); o.Level < 1 || o.Level > 9 {
		return wrong("Level", "there is no compression level %d: levels are 1 to 9", o.Level)
	}
	if o.MaxFile < 0 {
		return wrong("MaxFile", "the largest size of a file cannot be negative")
	}
	return o.checkLabels()
}

func (o *Options) checkRuntime() error {
	if o.Runtime != "" {
		if _, err := image.ParseRuntime(string(o.Runtime)); err != nil {
			return wrong("Runtime", "%w", err)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(o.Binaries), func(a, b image.Platform) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.Contains(o.Platforms, p) {
			return wrong("Binaries", "there is a runtime for %s, which is none of the platforms %s", p, platformNames(o.Platforms))
		}
	}
	for _, p := range o.Platforms {
		if _, ok := o.Binaries[p]; !ok && (o.Base == "" || len(o.Binaries) > 0) {
			return wrong("Binaries", "there is no runtime for %s: give a binary for it, or a base image that has one, or leave the platform out", p)
		}
	}
	if o.CABundle != "" && o.Base != "" {
		return wrong("CABundle", "certificates go with an image without base: a base image has its own")
	}
	return nil
}

func (o *Options) checkLabels() error {
	for _, l := range []struct {
		option, value string
		key           image.Key
	}{
		{"Contract", o.Contract, image.LabelContract}, {"RuntimeVersion", o.RuntimeVersion, image.LabelRuntimeVersion},
		{"Capacity", o.Capacity, image.LabelCapacity}, {"NodeInfo", o.NodeInfo, image.LabelNodeInfo},
		{"VariablesSchema", o.VariablesSchema, image.LabelVariablesSchema},
	} {
		if l.value == "" {
			continue
		}
		label, _ := image.FindLabel(l.key)
		if vs := label.Check(l.value); len(vs) > 0 {
			return wrong(l.option, "%w", vs)
		}
	}
	if v := o.RuntimeVersion; v != "" && !versionPattern.MatchString(v) {
		return wrong("RuntimeVersion", "parsing the runtime's version %q: it is no semantic version, such as 1.12.6", v)
	}
	if v := o.About.Version; v != "" && !tagPattern.MatchString(v) {
		return wrong("About", "parsing the image's version %q: it should be the tag, so it is up to 128 letters, digits, dots, dashes and underscores, such as v1.0.0", v)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		if _, ours := image.FindLabel(image.Key(key)); ours || key == "" {
			return wrong("Labels", "the label %q has an option of its own", key)
		}
	}
	return nil
}

// ParseEpoch reads the value of the environment variable SOURCE_DATE_EPOCH:
// seconds since 1970. An empty value is the zero time.
func ParseEpoch(value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 0 || seconds > maxCreated {
		return time.Time{}, fmt.Errorf("parsing SOURCE_DATE_EPOCH %q: it is the number of seconds since 1970", value)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// since is the time that a step took, for people.
func since(start time.Time) time.Duration { return time.Since(start).Round(10 * time.Millisecond) }

// Result is what was built. The layers are files until it is closed.
type Result struct {
	// Index is the image index, Digest its digest.
	Index  v1.ImageIndex
	Digest v1.Hash
	// Runtime and RuntimeVersion are what is in it.
	Runtime        image.Runtime
	RuntimeVersion string
	// Platforms are the images, in the order of the index.
	Platforms []PlatformResult
	// Labels are those of every platform.
	Labels map[string]string
	// Files are the files of the module that ship, LeftOut those that do not.
	Files   []string
	LeftOut []LeftOut
	// Requirements are the providers that the module needs.
	Requirements []Requirement

	writer layerWriter
	base   *base
}

// PlatformResult is the image of one platform.
type PlatformResult struct {
	Platform image.Platform
	Digest   v1.Hash
	// Size is what a node downloads: manifest, config and layers, in bytes.
	Size int64
	// Layers are those that were added to the base, the lowest first.
	Layers []LayerResult
	// Providers are the packages in the mirror.
	Providers []image.Package
}

// LayerResult is a layer.
type LayerResult struct {
	// Content says what it holds: runtime, providers or module.
	Content string
	Digest  v1.Hash
	Size    int64
}

// Close removes the files of the layers and closes the base. The index cannot be
// read any more afterwards.
func (r *Result) Close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.writer.removeAll(), r.base.close())
}

func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
