package module

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// fileSet is what a runtime reads in a directory.
type fileSet struct {
	read   []string // primary files by name, then override files by name
	hidden []string
}

// fileSets applies the runtimes' rules for file names. The entries are sorted
// by name, as [fs.ReadDir] returns them.
func fileSets(entries []fs.DirEntry) [2]fileSet {
	present := map[string]bool{}
	var primary, override []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || Ignored(name) || !ModuleFile(name) {
			continue
		}
		present[name] = true
		if OverrideFile(name) {
			override = append(override, name)
		} else {
			primary = append(primary, name)
		}
	}
	var sets [2]fileSet
	for _, name := range append(primary, override...) {
		if TofuFile(name) {
			sets[OpenTofu].read = append(sets[OpenTofu].read, name)
			continue
		}
		sets[Terraform].read = append(sets[Terraform].read, name)
		if present[twin(name)] {
			sets[OpenTofu].hidden = append(sets[OpenTofu].hidden, name)
		} else {
			sets[OpenTofu].read = append(sets[OpenTofu].read, name)
		}
	}
	return sets
}

// allFiles returns what any of the runtimes reads, in reading order: Terraform's
// files first.
func allFiles(sets [2]fileSet) []string {
	all := slices.Clone(sets[Terraform].read)
	for _, name := range sets[OpenTofu].read {
		if TofuFile(name) {
			all = append(all, name)
		}
	}
	return all
}

// twin is the name of the OpenTofu file that hides a .tf or .tf.json file.
func twin(name string) string {
	if base, ok := strings.CutSuffix(name, ".tf.json"); ok {
		return base + ".tofu.json"
	}
	return strings.TrimSuffix(name, ".tf") + ".tofu"
}

// ModuleFile tells whether a file name has one of the extensions that a runtime
// reads as part of a module.
func ModuleFile(name string) bool {
	return strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json") || TofuFile(name)
}

// TofuFile tells whether only OpenTofu reads a file of this name.
func TofuFile(name string) bool {
	return strings.HasSuffix(name, ".tofu") || strings.HasSuffix(name, ".tofu.json")
}

// Ignored tells whether the runtimes skip a file of this name, for it looks
// hidden, or like an editor's copy.
func Ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// OverrideFile tells whether a module file of this name overrides others.
func OverrideFile(name string) bool {
	base := name
	for _, ext := range []string{".tf", ".tf.json", ".tofu", ".tofu.json"} {
		if b, ok := strings.CutSuffix(name, ext); ok {
			base = b
			break
		}
	}
	return base == "override" || strings.HasSuffix(base, "_override")
}

// parseFile parses a file by the syntax that its name asks for.
func parseFile(name string, src []byte) (*File, hcl.Diagnostics) {
	base := name[strings.LastIndexByte(name, '/')+1:]
	f := &File{
		Name:     name,
		Bytes:    src,
		JSON:     strings.HasSuffix(name, ".json"),
		Tofu:     TofuFile(base),
		Override: OverrideFile(base),
		HCL:      &hcl.File{Body: hcl.EmptyBody(), Bytes: src},
	}
	if at, ok := invalidText(src); ok {
		rng := hcl.Range{Filename: name, Start: at, End: at}
		return f, hcl.Diagnostics{problem(&rng, "Invalid character encoding", "the file is not in UTF-8; save it as UTF-8")}
	}
	if at, deep := tooDeep(src, f.JSON); deep {
		return f, hcl.Diagnostics{nestingProblem(hcl.Range{Filename: name, Start: at, End: at})}
	}
	var parsed *hcl.File
	var diags hcl.Diagnostics
	if f.JSON {
		parsed, diags = hcljson.Parse(src, name)
	} else {
		parsed, diags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	}
	if parsed != nil && parsed.Body != nil {
		f.HCL = parsed
	}
	return f, diags
}

// invalidText finds the first byte that is not UTF-8.
func invalidText(src []byte) (hcl.Pos, bool) {
	if utf8.Valid(src) {
		return hcl.Pos{}, false
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return positionOf(src, i), true
		}
		i += n
	}
	return hcl.Pos{}, false
}

func positionOf(src []byte, offset int) hcl.Pos {
	before := src[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return hcl.Pos{Line: bytes.Count(before, []byte{'\n'}) + 1, Column: utf8.RuneCount(before[start:]) + 1, Byte: offset}
}
