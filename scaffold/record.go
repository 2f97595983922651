package scaffold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// RecordName is the file in which a scaffold keeps what was generated.
const RecordName = ".captf-scaffold.json"

// maxRecord and maxFile bound what is read into memory, in bytes.
const (
	maxRecord = 1 << 20
	maxFile   = 4 << 20
)

// record is the content of the file RecordName.
type record struct {
	// Scaffold is the Generation that wrote the files.
	Scaffold int           `json:"scaffold"`
	Contract string        `json:"contract"`
	Role     contract.Role `json:"role,omitempty"`
	Set      bool          `json:"set,omitempty"`
	Provider *Provider     `json:"provider,omitempty"`
	Runtime  Runtime       `json:"runtime"`
	// Files maps the path of each generated file to the digest of what was
	// generated, whether or not the author took it over.
	Files map[string]string `json:"files"`
}

func newRecord(t *Tree) *record {
	r := &record{
		Scaffold: Generation, Contract: t.Options.Contract, Role: t.Options.Role, Set: t.Options.Set,
		Provider: t.Options.Provider, Runtime: t.Options.Runtime, Files: map[string]string{},
	}
	for _, f := range t.Files {
		r.Files[f.Path] = digest(f.Content)
	}
	return r
}

func (r *record) options() Options {
	return Options{Role: r.Role, Set: r.Set, Contract: r.Contract, Provider: r.Provider, Runtime: r.Runtime}
}

func (r *record) encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r)
	return out.Bytes(), err
}

// digest identifies a text. Line endings do not count: a checkout that turns
// them is no edit.
func digest(content []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// readRecord reads the record of the scaffold in root; dir names it in errors.
func readRecord(root *os.Root, dir string) (*record, error) {
	name := filepath.Join(dir, RecordName)
	data, err := readFile(root, RecordName, maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading %s: the file does not exist, so nothing was scaffolded here; leave out --update to scaffold into an empty directory", name)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return decodeRecord(name, data)
}

func decodeRecord(name string, data []byte) (*record, error) {
	var header struct {
		Scaffold int `json:"scaffold"`
	}
	if err := json.Unmarshal(data, &header); err != nil {
		return nil, fmt.Errorf("reading %s: %w", at(name, data, err), err)
	}
	if header.Scaffold > Generation {
		return nil, fmt.Errorf("reading %s: it was written by a newer release (scaffold %d, this one knows %d); update captf", name, header.Scaffold, Generation)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var r record
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading %s: %w; restore the file from version control", at(name, data, err), err)
	}
	if r.Scaffold < 1 {
		return nil, fmt.Errorf("reading %s: scaffold is %d; restore the file from version control", name, r.Scaffold)
	}
	for p := range r.Files {
		if !filepath.IsLocal(filepath.FromSlash(p)) || path.Clean(p) != p || strings.Contains(p, `\`) {
			return nil, fmt.Errorf("reading %s: the file %q is not inside the directory; restore the record from version control", name, p)
		}
	}
	return &r, nil
}

// at names the place of a JSON error.
func at(name string, data []byte, err error) string {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typ):
		offset = typ.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return name
	}
	before := data[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("%s:%d:%d", name, line, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// errNotRegular marks what lies where a file was expected.
var errNotRegular = errors.New("it is not a regular file")

// readFile reads a regular file below root, never through a link.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}
