package image

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
)

// Package is one provider in a mirror, for one platform.
type Package struct {
	// Provider is its address HOST/NAMESPACE/TYPE in lower case.
	Provider string
	// Version has no v in front.
	Version  string
	Platform Platform
	// Path is where it lies below the mirror: the archive of a packed
	// provider, the directory of an unpacked one.
	Path   string
	Packed bool
}

// Mirror is what a provider mirror holds (image.md 3).
type Mirror struct {
	// Packages are sorted by provider, version and platform.
	Packages []Package
	// Strays are the files that belong to neither layout.
	Strays []string
}

// The form of the file names in a packed mirror.
const (
	packagePrefix = "terraform-provider-"
	packageSuffix = ".zip"
)

// ParseMirror tells what the mirror with these files holds. The paths are
// relative to the mirror and have forward slashes; directories are not listed.
func ParseMirror(files []string) Mirror {
	var m Mirror
	seen := map[string]bool{}
	for _, file := range files {
		p, ok := parsePackage(file)
		if !ok {
			if !isMirrorIndex(file) {
				m.Strays = append(m.Strays, file)
			}
			continue
		}
		if !seen[p.Path] {
			seen[p.Path] = true
			m.Packages = append(m.Packages, p)
		}
	}
	slices.Sort(m.Strays)
	slices.SortFunc(m.Packages, func(a, b Package) int {
		return cmp.Or(
			strings.Compare(a.Provider, b.Provider), compareVersions(a.Version, b.Version),
			strings.Compare(a.Platform.String(), b.Platform.String()), strings.Compare(a.Path, b.Path),
		)
	})
	return m
}

// depths of a path below the mirror.
const (
	packedDepth   = 4 // HOST/NAMESPACE/TYPE/FILE.zip
	unpackedDepth = 6 // HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/FILE
)

func parsePackage(file string) (Package, bool) {
	parts := strings.Split(file, "/")
	if len(parts) < packedDepth || slices.Contains(parts, "") {
		return Package{}, false
	}
	p := Package{Provider: strings.ToLower(strings.Join(parts[:3], "/"))}
	var target string
	switch {
	case len(parts) == packedDepth:
		rest, ok := strings.CutPrefix(parts[3], packagePrefix+parts[2]+"_")
		if !ok {
			return Package{}, false
		}
		if rest, ok = strings.CutSuffix(rest, packageSuffix); !ok {
			return Package{}, false
		}
		if p.Version, target, ok = strings.Cut(rest, "_"); !ok {
			return Package{}, false
		}
		p.Path, p.Packed = file, true
	case len(parts) >= unpackedDepth:
		p.Version, target = parts[3], parts[4]
		p.Path = strings.Join(parts[:5], "/")
	default:
		return Package{}, false
	}
	os, arch, ok := strings.Cut(target, "_")
	p.Platform = Platform{OS: os, Arch: arch}
	if _, err := version.NewSemver(p.Version); err != nil || !ok || !p.Platform.Valid() {
		return Package{}, false
	}
	return p, true
}

// isMirrorIndex tells that file is one of the indexes which "providers mirror"
// writes beside the archives.
func isMirrorIndex(file string) bool {
	return strings.Count(file, "/") == packedDepth-1 && path.Ext(file) == ".json"
}

func compareVersions(a, b string) int {
	va, errA := version.NewSemver(a)
	vb, errB := version.NewSemver(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return va.Compare(vb)
}

// Find returns the packages of a provider for a platform whose versions meet
// the constraint, such as "= 5.1.0" or "~> 5.0, != 5.3.0"; "" is met by all.
func (m Mirror) Find(provider, constraint string, on Platform) ([]Package, error) {
	var wanted version.Constraints
	if strings.TrimSpace(constraint) != "" {
		var err error
		if wanted, err = version.NewConstraint(constraint); err != nil {
			return nil, fmt.Errorf("parsing version constraint %q of provider %s: %w", constraint, provider, err)
		}
	}
	var out []Package
	for _, p := range m.Packages {
		if p.Provider != provider || p.Platform != on {
			continue
		}
		if v, err := version.NewSemver(p.Version); err == nil && (wanted == nil || wanted.Check(v)) {
			out = append(out, p)
		}
	}
	return out, nil
}

// Builtin tells that a provider is part of the runtimes and in no mirror.
func Builtin(provider string) bool { return strings.HasPrefix(provider, "terraform.io/builtin/") }
