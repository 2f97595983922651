package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/captf-toolkit/captf/contract"
)

//go:embed templates
var templates embed.FS

// File is one generated file.
type File struct {
	// Path is relative to the directory of the scaffold, with slashes.
	Path string
	// Content is what the file holds.
	Content []byte
}

// Tree is what was generated, in memory.
type Tree struct {
	// Options are those that the tree was generated with, defaults filled in.
	Options Options
	// Files are sorted by path. The record is not among them; writing adds it.
	Files []File
}

// Generate renders the modules that o asks for. It touches no disk.
func Generate(o Options) (*Tree, error) {
	o, def, err := o.complete()
	if err != nil {
		return nil, err
	}
	tree := &Tree{Options: o}
	var modules []*moduleData
	for _, role := range o.Roles() {
		data, err := newModuleData(o, def, role)
		if err != nil {
			return nil, err
		}
		modules = append(modules, data)
		dir := ""
		if o.Set {
			dir = string(role)
		}
		if err := tree.addModule(dir, data); err != nil {
			return nil, err
		}
	}
	if err := tree.addRoot(modules); err != nil {
		return nil, err
	}
	slices.SortFunc(tree.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return tree, nil
}

// addModule adds the files of one module below dir.
func (t *Tree) addModule(dir string, data *moduleData) error {
	for _, from := range []string{"any", string(data.Role)} {
		names, err := fs.Glob(templates, path.Join("templates/module", from, "files", "*.tmpl"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := t.add(path.Join(dir, strings.TrimSuffix(path.Base(name), ".tmpl")), name, data); err != nil {
				return err
			}
		}
	}
	if data.Provider != nil {
		if err := t.add(path.Join(dir, "providers.tf"), "templates/module/any/providers.tf.tmpl", data); err != nil {
			return err
		}
	}
	if err := t.add(path.Join(dir, ".dockerignore"), "templates/module/any/dockerignore.tmpl", data); err != nil {
		return err
	}
	return t.add(path.Join(dir, "tests/contract.tftest.hcl"), "templates/module/any/contract.tftest.hcl.tmpl", data)
}

// addRoot adds what a repository has once, whether it holds one module or a set.
func (t *Tree) addRoot(modules []*moduleData) error {
	data := rootData{moduleData: modules[0], Modules: modules, Roles: t.Options.Roles()}
	if t.Options.Set {
		if err := t.add("README.md", "templates/set/README.md.tmpl", data); err != nil {
			return err
		}
	}
	if err := t.add(".gitignore", "templates/gitignore.tmpl", data); err != nil {
		return err
	}
	return t.add(".github/workflows/module.yml", "templates/workflow.yml.tmpl", data)
}

func (t *Tree) add(name, from string, data any) error {
	text, err := render(from, data)
	if err != nil {
		return err
	}
	if ext := path.Ext(name); ext == ".tf" || ext == ".hcl" {
		text = hclwrite.Format(text)
	}
	t.Files = append(t.Files, File{Path: name, Content: text})
	return nil
}

// render executes the template with the given name. A template that refers to
// what data does not have is an error.
func render(name string, data any) ([]byte, error) {
	src, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(string(src))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// outputValue renders the value of an output. An output of the contract without
// a template is an error: a module that lacks it would not be accepted.
func outputValue(data *moduleData, output contract.Output) (string, error) {
	name := path.Join("templates/module", string(data.Role), "outputs", output.Name+".tmpl")
	text, err := render(name, data)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("generating role %s: contract %s has output %s, for which there is no template %s", data.Role, data.Contract, output.Name, name)
	}
	return string(text), err
}
