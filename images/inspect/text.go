package inspect

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/captf-toolkit/captf/images/content"
)

// WriteText writes the report for people. What is the same on all platforms is
// written once.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(key, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", key, clean(fmt.Sprintf(format, args...)))
	}
	line("Image", "%s", r.Reference)
	line("Digest", "%s", r.Digest)
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		line(strings.TrimPrefix(key, "org.opencontainers.image."), "%s", r.Annotations[key])
	}
	for i, p := range r.Platforms {
		fmt.Fprintln(t)
		line("Platform", "%s", p.Platform)
		line("  Digest", "%s", p.Digest)
		line("  Size", "%s", content.Bytes(p.Size))
		for j, l := range p.Layers {
			key := ""
			if j == 0 {
				key = "  Layers"
			}
			line(key, "%s", strings.TrimSpace(fmt.Sprintf("%s  %s  %s", l.Digest, content.Bytes(l.Size), l.Content)))
		}
		line("  User", "%s", cmp.Or(p.User, "root"))
		if i > 0 && p.sameLabels(r.Platforms[0]) {
			line("  Labels", "as on %s", r.Platforms[0].Platform)
		} else {
			p.Labels.write(line)
		}
		p.writeFiles(line, r.Platforms[0], i > 0)
		for _, problem := range p.Problems {
			line("  Problem", "%s", problem)
		}
	}
	for _, a := range r.Attached {
		fmt.Fprintln(t)
		line("Attached", "%s", cmp.Or(a.ArtifactType, "a document"))
		line("  Digest", "%s", a.Digest)
		line("  To", "%s", a.Subject)
	}
	return t.Flush()
}

func (p Platform) sameLabels(o Platform) bool { return reflect.DeepEqual(p.Labels, o.Labels) }

// write writes the labels.
func (l Labels) write(line func(key, format string, args ...any)) {
	if l.Role != "" || l.Contract != "" {
		line("  Role", "%s, contract %s", cmp.Or(l.Role, "not said"), cmp.Or(l.Contract, "not said"))
	}
	if l.Runtime != "" {
		line("  Runtime", "%s %s", l.Runtime, l.RuntimeVersion)
	}
	if l.Capacity != nil {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(l.Capacity)) {
			parts = append(parts, name+"="+l.Capacity[name])
		}
		line("  Capacity", "%s", strings.Join(parts, " "))
	}
	if l.NodeInfo != nil {
		line("  Node", "%s", strings.Trim(l.NodeInfo.OperatingSystem+"/"+l.NodeInfo.Architecture, "/"))
	}
	for i, v := range l.Variables {
		required := ""
		if v.Required {
			required = ", required"
		}
		key := ""
		if i == 0 {
			key = "  Variables"
		}
		line(key, "%s: %s%s", v.Name, cmp.Or(v.Type, "any"), required)
	}
	for i, key := range slices.Sorted(maps.Keys(l.Others)) {
		name := ""
		if i == 0 {
			name = "  Labels"
		}
		line(name, "%s=%s", key, l.Others[key])
	}
}

// writeFiles writes what is inside.
func (p Platform) writeFiles(line func(key, format string, args ...any), first Platform, later bool) {
	if p.Runtime != nil {
		line("  Executable", "%s (%s)", p.Runtime.Path, content.Bytes(p.Runtime.Size))
	}
	for i, provider := range p.Providers {
		key := ""
		if i == 0 {
			key = "  Providers"
		}
		line(key, "%s", provider)
	}
	if later && slices.Equal(p.Module, first.Module) {
		line("  Module", "as on %s", first.Platform)
		return
	}
	for i, f := range p.Module {
		key := ""
		if i == 0 {
			key = "  Module"
		}
		if f.Link != "" {
			line(key, "%s -> %s", f.Path, f.Link)
			continue
		}
		line(key, "%s (%s)", f.Path, content.Bytes(f.Size))
	}
}

// clean keeps an image from writing control characters to a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
