package runtime

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Redacted replaces every secret in what this package returns or writes.
const Redacted = "(redacted)"

const (
	// Shorter secrets are not replaced: they occur everywhere by chance.
	minSecret = 4
	// Lines of a secret with several lines are secrets of their own from this
	// length on, because runtimes quote and wrap by lines.
	minSecretLine = 16
)

// redactor replaces secrets in text. The zero value replaces nothing.
type redactor struct {
	replace *strings.Replacer
	// longest form of any secret, in bytes.
	longest int
}

func newRedactor(secrets []string) *redactor {
	forms := map[string]struct{}{}
	add := func(s string) {
		if len(s) >= minSecret {
			forms[s] = struct{}{}
		}
	}
	for _, s := range secrets {
		variants := []string{s, strings.TrimSpace(s)}
		if strings.ContainsAny(s, "\r\n") {
			for l := range strings.Lines(s) {
				if l = strings.TrimSpace(l); len(l) >= minSecretLine {
					variants = append(variants, l)
				}
			}
		}
		for _, v := range variants {
			if len(v) < minSecret {
				continue
			}
			add(v)
			add(jsonText(v, true))
			add(jsonText(v, false))
			add(base64.StdEncoding.EncodeToString([]byte(v)))
		}
	}
	if len(forms) == 0 {
		return &redactor{}
	}
	list := make([]string, 0, len(forms))
	for f := range forms {
		list = append(list, f)
	}
	// The replacer takes the first match in argument order: longest first, so that no
	// rest of a longer secret stays behind a shorter one.
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(list))
	for _, f := range list {
		pairs = append(pairs, f, Redacted)
	}
	return &redactor{replace: strings.NewReplacer(pairs...), longest: len(list[0])}
}

func (r *redactor) text(s string) string {
	if r == nil || r.replace == nil {
		return s
	}
	return r.replace.Replace(s)
}

// line redacts one line of output. The end of a line that was cut may hold the
// start of a secret, so that much of it is dropped.
func (r *redactor) line(l line) line {
	if r == nil || r.replace == nil {
		return l
	}
	text := r.replace.Replace(string(l.text))
	if l.cut {
		text = text[:max(0, len(text)-r.longest)]
	}
	return line{text: []byte(text), cut: l.cut}
}

// jsonText is s as the content of a JSON string.
func jsonText(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(s); err != nil {
		return s
	}
	t := strings.TrimSuffix(b.String(), "\n")
	return t[1 : len(t)-1]
}
