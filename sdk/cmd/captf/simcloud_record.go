package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// recordFlags are the flags of captf simcloud record.
type recordFlags struct {
	providers, modules, prune []string
	output, runtime           string
}

func newSimcloudRecordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [flags] (--provider SOURCE[@VERSION] | --module DIR)...",
		Short: "Record the schemas of providers, to simulate them",
		Long: `Record the schemas of providers, to simulate them with captf harness run --simulate.

The providers are installed into a directory for temporary files by the runtime's init,
from where your CLI configuration says (a registry, a mirror), and asked for their
schemas. No credentials are needed, and nothing is created.

--provider names a provider, --module a module directory whose providers are meant, in
the versions that it asks for. With --prune only those types are kept that the modules
below a directory use: a pruned schema is small, and loads quickly.

--output is a file, or for several providers a directory that gets a file
NAMESPACE_TYPE.json.gz each. A file appears whole or not at all.

Exit codes: ` + strconv.Itoa(exitOK) + ` recorded; ` + strconv.Itoa(exitError) + ` a provider cannot be installed or its schema not be read;
` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # The AWS provider, with what the modules below ./modules use
  captf simcloud record --provider hashicorp/aws@6.25.0 --prune modules --output aws.json.gz

  # Every provider of a module
  captf simcloud record --module modules/cluster --output schemas/`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.output == "" {
				return usage(errors.New("--output FILE is needed"))
			}
			if len(f.providers)+len(f.modules) == 0 {
				return usage(errors.New("either --provider SOURCE or --module DIR is needed"))
			}
			return recordSchemas(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.providers, "provider", nil, "provider to record, as SOURCE or SOURCE@VERSION, such as hashicorp/aws@6.25.0; may be repeated")
	flags.StringArrayVar(&f.modules, "module", nil, "module directory whose providers are recorded; may be repeated")
	flags.StringArrayVar(&f.prune, "prune", nil, "keep only the types that modules below this directory use; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "", "file to write, or a directory for several providers")
	flags.StringVar(&f.runtime, "runtime", "", "path or name of the OpenTofu or Terraform binary (default $"+runtime.EnvRuntime+", then tofu, then terraform)")
	return cmd
}

// recordSchemas installs the providers and writes their schemas.
func recordSchemas(cmd *cobra.Command, f recordFlags) error {
	ctx := cmd.Context()
	binary, err := runtime.Find(ctx, runtime.Options{Path: f.runtime})
	if err != nil {
		return err
	}
	reader := module.Terraform
	if binary.Kind == runtime.OpenTofu {
		reader = module.OpenTofu
	}
	wanted, err := f.wanted(reader)
	if err != nil {
		return err
	}
	var types map[string]*simcloud.Types
	if len(f.prune) > 0 {
		if types, err = typesBelow(f.prune, reader); err != nil {
			return err
		}
	}
	targets, err := f.targets(wanted)
	if err != nil {
		return usage(err)
	}
	dir, err := os.MkdirTemp("", "captf-record-")
	if err != nil {
		return fmt.Errorf("making a directory for temporary files: %w", err)
	}
	defer os.RemoveAll(dir)
	doc, err := installedSchemas(ctx, binary, dir, wanted)
	if err != nil {
		return err
	}
	locked := lockedVersions(filepath.Join(dir, ".terraform.lock.hcl"))
	for n, w := range wanted {
		o := simcloud.RecordOptions{Source: w.Source, Version: locked[w.Source]}
		if types != nil {
			if o.Types = types[w.Source]; o.Types == nil {
				o.Types = &simcloud.Types{}
			}
			o.Types.Functions = true
		}
		var content bytes.Buffer
		e, err := simcloud.Record(&content, bytes.NewReader(doc), o)
		if err != nil {
			return fmt.Errorf("recording %s: %w", w.Source, err)
		}
		err = writeFile(targets[n], func(out io.Writer) error {
			_, err := out.Write(content.Bytes())
			return err
		})
		if err != nil {
			return fmt.Errorf("recording %s: %w", w.Source, err)
		}
		version := ""
		if e.Version != "" {
			version = " " + e.Version
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s%s: %d resource types, %d data sources, %d KiB: %s\n",
			e.Source, version, len(e.Types.Resources), len(e.Types.Data), (content.Len()+1023)>>10, targets[n])
	}
	return nil
}

// wanted are the providers to record, by source.
func (f recordFlags) wanted(reader module.Runtime) ([]runner.Requirement, error) {
	var list []runner.Requirement
	for _, arg := range f.providers {
		source, version, has := strings.Cut(arg, "@")
		parts := strings.Split(source, "/")
		if source == "" || has && version == "" || len(parts) > 3 || slices.Contains(parts, "") {
			return nil, usage(fmt.Errorf("parsing --provider %q: it must be SOURCE or SOURCE@VERSION, such as hashicorp/aws@6.25.0", arg))
		}
		r := runner.Requirement{Source: simcloud.PlainSource(source)}
		if has {
			r.Versions = []string{version}
		}
		list = append(list, r)
	}
	if len(f.modules) > 0 {
		found, err := runner.Requirements(f.modules, reader)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no module requires a provider that is not built in", strings.Join(f.modules, ", "))
		}
		for _, r := range found {
			if !slices.ContainsFunc(list, func(o runner.Requirement) bool { return o.Source == r.Source }) {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// targets are the files to write.
func (f recordFlags) targets(wanted []runner.Requirement) ([]string, error) {
	info, err := os.Stat(f.output)
	isDir := strings.HasSuffix(f.output, "/") || err == nil && info.IsDir()
	if len(wanted) == 1 && !isDir {
		return []string{f.output}, nil
	}
	if !isDir {
		return nil, fmt.Errorf("parsing --output %q: there are %d providers, so it must be a directory, with a slash at its end if it does not exist", f.output, len(wanted))
	}
	if err := os.MkdirAll(f.output, 0o755); err != nil { //nolint:gosec // Schemas are public.
		return nil, fmt.Errorf("making --output: %w", err)
	}
	var out []string
	for _, w := range wanted {
		out = append(out, filepath.Join(f.output, simcloud.FileName(w.Source)))
	}
	return out, nil
}

// installedSchemas installs providers in dir and returns what the runtime says of their schemas.
func installedSchemas(ctx context.Context, binary *runtime.Binary, dir string, wanted []runner.Requirement) ([]byte, error) {
	required := map[string]any{}
	for n, w := range wanted {
		p := map[string]any{"source": w.Source}
		if len(w.Versions) > 0 {
			p["version"] = strings.Join(w.Versions, ", ")
		}
		required[fmt.Sprintf("p%d", n)] = p
	}
	raw, err := json.MarshalIndent(map[string]any{"terraform": map[string]any{"required_providers": required}}, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.tf.json"), raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the installation of providers: %w", err)
	}
	w, err := binary.Workdir(dir, runtime.WorkdirOptions{CLIConfig: binary.UserCLIConfig()})
	if err != nil {
		return nil, err
	}
	if _, err := w.Init(ctx, runtime.InitOptions{Always: true}); err != nil {
		return nil, fmt.Errorf("installing the providers: %w", placeless(err, filepath.Dir(dir)))
	}
	return w.ProviderSchemas(ctx)
}

// lockSchema is what a lock file says.
var lockSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"source"}}}}

// lockedVersions are the versions that a lock file has, by source; none if it cannot be read.
func lockedVersions(file string) map[string]string {
	out := map[string]string{}
	f, diags := hclparse.NewParser().ParseHCLFile(file)
	if diags.HasErrors() {
		return out
	}
	content, _, _ := f.Body.PartialContent(lockSchema)
	for _, b := range content.Blocks {
		attrs, _ := b.Body.JustAttributes()
		if a := attrs["version"]; a != nil {
			if v, diags := a.Expr.Value(nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
				out[simcloud.PlainSource(b.Labels[0])] = v.AsString()
			}
		}
	}
	return out
}

// maxModuleDirs bounds how many directories are looked through for modules.
const maxModuleDirs = 10_000

// typesBelow are the types that all modules in and below directories use, by provider.
func typesBelow(roots []string, reader module.Runtime) (map[string]*simcloud.Types, error) {
	out := map[string]*simcloud.Types{}
	for _, root := range roots {
		dirs, err := moduleDirs(root)
		if err != nil {
			return nil, err
		}
		if len(dirs) == 0 {
			return nil, fmt.Errorf("parsing --prune %s: there is no module in or below it", root)
		}
		found, err := runner.Requirements(dirs, reader)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			t := out[r.Source]
			if t == nil {
				t = &simcloud.Types{Resources: map[string]bool{}, Data: map[string]bool{}, Ephemerals: map[string]bool{}}
				out[r.Source] = t
			}
			t.Add(r.Types)
		}
	}
	return out, nil
}

// moduleDirs are the directories with files of modules in and below one.
func moduleDirs(root string) ([]string, error) {
	var dirs []string
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir():
			if seen++; seen > maxModuleDirs {
				return fmt.Errorf("it has more than %d directories", maxModuleDirs)
			}
		case strings.HasSuffix(path, ".tf"), strings.HasSuffix(path, ".tofu"), strings.HasSuffix(path, ".tf.json"), strings.HasSuffix(path, ".tofu.json"):
			if dir := filepath.Dir(path); len(dirs) == 0 || dirs[len(dirs)-1] != dir {
				dirs = append(dirs, dir)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for modules below %s: %w", root, err)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}
