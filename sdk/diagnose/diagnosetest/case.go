// Package diagnosetest is test support: it reads the cases of sdk/diagnose, which are folders of objects.
//
// Not in this package: what a case must lead to beyond its first line, which is in golden files beside it.
package diagnosetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Case is what a folder holds.
type Case struct {
	// Expect is the diagnosis that its first line asks for: VERDICT [GATE KIND/NAME].
	Expect string
	// Objects are those of the file, or those of the case that it begins from with the file's changes.
	Objects []unstructured.Unstructured
}

const (
	expect = "# expect: "
	from   = "# from: "
	patch  = "$patch"
)

// Read reads a case by the directory of all cases and its name. A file with a line "# from: CASE" holds changes of that case's
// objects: fields are merged, null removes one, conditions are merged by their type, an object with $patch: delete is left out,
// and one that the other case does not have is added.
func Read(dir, name string) (*Case, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name, "objects.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading a case: %w", err)
	}
	c, base := &Case{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			break
		}
		if text, ok := strings.CutPrefix(line, expect); ok {
			c.Expect = text
		}
		if text, ok := strings.CutPrefix(line, from); ok {
			base = text
		}
	}
	if c.Expect == "" {
		return nil, fmt.Errorf("reading case %s: it has no line %sVERDICT [GATE KIND/NAME]", name, expect)
	}
	objects, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("reading case %s: %w", name, err)
	}
	if base == "" {
		c.Objects = objects
		return c, nil
	}
	begun, err := Read(dir, base)
	if err != nil {
		return nil, fmt.Errorf("reading case %s: %w", name, err)
	}
	c.Objects = begun.Objects
	for _, change := range objects {
		at := slices.IndexFunc(c.Objects, func(o unstructured.Unstructured) bool { return id(o) == id(change) })
		gone := change.Object[patch] == "delete"
		switch {
		case at < 0 && gone:
			return nil, fmt.Errorf("reading case %s: it deletes %s, which case %s does not have", name, id(change), base)
		case at < 0:
			c.Objects = append(c.Objects, change)
		case gone:
			c.Objects = slices.Delete(c.Objects, at, at+1)
		default:
			merge(c.Objects[at].Object, change.Object)
		}
	}
	return c, nil
}

// id tells which object a change is of.
func id(o unstructured.Unstructured) string {
	return o.GetAPIVersion() + " " + o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// decode reads the objects of a file.
func decode(raw []byte) ([]unstructured.Unstructured, error) {
	var list []unstructured.Unstructured
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		obj := unstructured.Unstructured{}
		if err := d.Decode(&obj); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, obj)
	}
}

// merge changes an object.
func merge(to, change map[string]any) {
	for key, value := range change {
		have, there := to[key]
		switch value := value.(type) {
		case nil:
			delete(to, key)
		case map[string]any:
			if m, ok := have.(map[string]any); ok {
				merge(m, value)
				continue
			}
			to[key] = value
		case []any:
			if list, ok := have.([]any); ok && there && byType(list) && byType(value) {
				to[key] = mergeByType(list, value)
				continue
			}
			to[key] = value
		default:
			to[key] = value
		}
	}
}

// typeOf is the type of an entry of a list, as conditions have one.
func typeOf(entry any) string {
	m, _ := entry.(map[string]any)
	text, _ := m["type"].(string)
	return text
}

// byType tells that all entries of a list have a type.
func byType(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(entry any) bool { return typeOf(entry) == "" })
}

func mergeByType(to, changes []any) []any {
	for _, entry := range changes {
		change, _ := entry.(map[string]any)
		at := slices.IndexFunc(to, func(have any) bool { return typeOf(have) == typeOf(entry) })
		switch {
		case at < 0:
			to = append(to, entry)
		case change[patch] == "delete":
			to = slices.Delete(to, at, at+1)
		default:
			if have, ok := to[at].(map[string]any); ok {
				merge(have, change)
			}
		}
	}
	return to
}
