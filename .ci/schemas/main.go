// Command schemas writes a recorded provider schema for sdk/simcloud/schemas: one provider's schema, pruned to some
// types, with a head that says where it comes from (sdk/simcloud.Header).
//
//	go run ./.ci/schemas -source hashicorp/aws -version 6.25.0 -derived-from 'npm @cdktf/provider-aws 21.22.1' \
//	  -types .ci/schemas/types/aws.txt -output FILE.json.gz (-cdktf DIR | -pulumi DIR | -plugin FILE)
//
// It reads what a provider itself prints (-plugin: `tofu providers schema -json`), or derives a schema from generated
// language bindings where no plugin can be had: the unpacked npm package of a provider's cdktf bindings (-cdktf) or Pulumi
// bindings (-pulumi). README.md beside it has the commands that made the recorded files. It exits 2 on any error.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("schemas", flag.ContinueOnError)
	var (
		head                     = simcloud.Header{Form: simcloud.FileVersion}
		types, output            string
		fromCDKTF, fromPulumi    string
		fromPlugin, forceNewFile string
	)
	flags.StringVar(&head.Source, "source", "", "the provider's address without a host")
	flags.StringVar(&head.Version, "version", "", "the provider's version")
	flags.IntVar(&head.Protocol, "protocol", 5, "the version of the plugin protocol that it speaks")
	flags.StringVar(&head.DerivedFrom, "derived-from", "", "the package that the schema is derived from; empty for a plugin")
	flags.StringVar(&types, "types", "", "file with globs of types to keep, one a line, data sources with data. before them; empty keeps all")
	flags.StringVar(&output, "output", "", "file to write, packed with gzip")
	flags.StringVar(&fromCDKTF, "cdktf", "", "directory lib of an unpacked cdktf provider package")
	flags.StringVar(&fromPulumi, "pulumi", "", "directory of an unpacked Pulumi provider package")
	flags.StringVar(&fromPlugin, "plugin", "", "file with the output of providers schema -json, or one provider's part of it; may be packed with gzip")
	flags.StringVar(&forceNewFile, "force-new", "", "with -pulumi: file to write the attributes to that the documentation does not call updatable")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if head.Source == "" || output == "" {
		return errors.New("-source and -output are needed")
	}
	var (
		doc document
		err error
	)
	switch {
	case fromPlugin != "":
		doc, err = readPlugin(fromPlugin, head.Source)
	case fromCDKTF != "":
		doc, err = deriveCDKTF(fromCDKTF)
	case fromPulumi != "":
		doc, err = derivePulumi(fromPulumi, head.Source)
	default:
		err = errors.New("one of -cdktf, -pulumi and -plugin is needed")
	}
	if err != nil {
		return err
	}
	if types != "" {
		head.Pruned = true
		if err := doc.prune(types); err != nil {
			return err
		}
	}
	if forceNewFile != "" {
		if err := writeForceNew(forceNewFile, doc); err != nil {
			return err
		}
	}
	return write(output, head, doc)
}

// document is what `providers schema -json` prints for one provider.
type document struct {
	Provider  *schema            `json:"provider"`
	Resources map[string]*schema `json:"resource_schemas"`
	Data      map[string]*schema `json:"data_source_schemas"`
	Ephemeral map[string]*schema `json:"ephemeral_resource_schemas,omitempty"`
	Functions json.RawMessage    `json:"functions,omitempty"`

	// All is the whole of what it prints.
	All map[string]*document `json:"provider_schemas,omitempty"`
}

type schema struct {
	Version int    `json:"version"`
	Block   *block `json:"block"`
}

type block struct {
	Attributes map[string]*attribute `json:"attributes,omitempty"`
	Blocks     map[string]*nested    `json:"block_types,omitempty"`
}

type attribute struct {
	Type      any     `json:"type,omitempty"`
	Nested    *object `json:"nested_type,omitempty"`
	Required  bool    `json:"required,omitempty"`
	Optional  bool    `json:"optional,omitempty"`
	Computed  bool    `json:"computed,omitempty"`
	Sensitive bool    `json:"sensitive,omitempty"`
	WriteOnly bool    `json:"write_only,omitempty"`

	forceNew bool
}

type object struct {
	Attributes map[string]*attribute `json:"attributes"`
	Nesting    string                `json:"nesting_mode"`
}

type nested struct {
	Nesting string `json:"nesting_mode"`
	Block   *block `json:"block"`
	Min     int    `json:"min_items,omitempty"`
	Max     int    `json:"max_items,omitempty"`

	forceNew bool
}

func readPlugin(file, source string) (document, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return document{}, err
	}
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return document{}, err
		}
		var out bytes.Buffer
		if _, err := out.ReadFrom(z); err != nil {
			return document{}, err
		}
		raw = out.Bytes()
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return document{}, fmt.Errorf("reading %s: %w", file, err)
	}
	for address, one := range doc.All {
		if strings.HasSuffix(address, "/"+source) {
			return *one, nil
		}
	}
	if doc.Provider == nil {
		return document{}, fmt.Errorf("reading %s: it has no provider %s", file, source)
	}
	return doc, nil
}

// prune keeps the types that the globs in a file name.
func (d *document) prune(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var resources, data []string
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		for word := range strings.FieldsSeq(lines.Text()) {
			if strings.HasPrefix(word, "#") {
				break
			}
			if name, ok := strings.CutPrefix(word, "data."); ok {
				data = append(data, name)
			} else {
				resources = append(resources, word)
			}
		}
	}
	missing := append(keep(d.Resources, resources, ""), keep(d.Data, data, "data.")...)
	if len(missing) > 0 {
		return fmt.Errorf("%s: the provider has no %s", file, strings.Join(missing, ", "))
	}
	d.Ephemeral, d.Functions = nil, nil
	return nil
}

// keep deletes what no glob names, and returns the globs that name nothing.
func keep(all map[string]*schema, globs []string, prefix string) (missing []string) {
	used := map[string]bool{}
	for name := range all {
		i := slices.IndexFunc(globs, func(g string) bool { ok, err := path.Match(g, name); return ok && err == nil })
		if i < 0 {
			delete(all, name)
			continue
		}
		used[globs[i]] = true
	}
	for _, g := range globs {
		if !used[g] && !strings.Contains(g, "*") {
			missing = append(missing, prefix+g)
		}
	}
	return missing
}

// write writes the file; the same schema gives the same bytes.
func write(file string, head simcloud.Header, doc document) error {
	raw, err := json.Marshal(struct {
		simcloud.Header
		document
	}{head, doc})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(raw); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d resource types, %d data sources, %d bytes, %d packed\n", file, len(doc.Resources), len(doc.Data), len(raw), packed.Len())
	return os.WriteFile(file, packed.Bytes(), 0o644) //nolint:gosec // It is part of the sources.
}
