package scaffold

import "github.com/captf-toolkit/captf/contract/image"

// ignored are names that do not belong into an image, of one kind.
type ignored struct {
	Kind     image.ClutterKind
	Patterns []string
}

// clutter returns what a build with a Containerfile has to leave out. Names that
// are clutter only with a certain content, and text that does no harm, stay.
func clutter() []ignored {
	var out []ignored
	for _, r := range image.Clutter() {
		if r.Content != "" || r.Kind.Harmless() {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Kind != r.Kind {
			out = append(out, ignored{Kind: r.Kind})
		}
		last := &out[len(out)-1]
		last.Patterns = append(last.Patterns, r.Pattern)
	}
	return out
}
