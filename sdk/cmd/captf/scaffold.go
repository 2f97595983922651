package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/scaffold"
)

// scaffoldFlags are the flags of captf scaffold.
type scaffoldFlags struct {
	role, provider, runtime, contract, output string
	set, update, dryRun                       bool
}

func newScaffoldCommand() *cobra.Command {
	var f scaffoldFlags
	cmd := &cobra.Command{
		Use:   "scaffold (--role ROLE | --set | --update) [flags] DIR",
		Short: "Generate a module, or a set of modules, to start from",
		Long: `Generate a module, or a set of modules, to start from.

DIR is a new or an empty directory; nothing is ever overwritten. The modules work at
once without any cloud, because terraform_data stands in for real resources; the
word ` + scaffold.Marker + ` marks the places where those go.

With --update DIR holds an older scaffold. Files that you did not edit are brought
up to date. A file that you edited stays as it is; if its template changed, the new
text is written beside it with the suffix ` + scaffold.NewSuffix + `, and the exit code is 1 until
you merged and removed it.`,
		Example: `  # A module for each role, below modules/
  captf scaffold --set modules

  # One module, with a provider
  captf scaffold --role machine --provider hashicorp/aws@6.25.0 terraform-aws-machine

  # See what a newer release would change
  captf scaffold --update --dry-run modules`,
		Args: exactly(1, "one directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return runScaffold(cmd, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "role of the module: "+contract.RoleNames())
	flags.BoolVar(&f.set, "set", false, "generate a module for every role, in directories named after them")
	flags.StringVar(&f.provider, "provider", "", "provider to require, as SOURCE@VERSION, such as hashicorp/aws@6.25.0")
	flags.StringVar(&f.runtime, "runtime", "", "runtime that README and workflow call: tofu or terraform (default tofu)")
	flags.StringVar(&f.contract, "contract", "", "contract version: "+strings.Join(versions.Names(), ", ")+" (default "+versions.Default().Version()+")")
	flags.BoolVar(&f.update, "update", false, "bring an older scaffold forward, with the flags that it was made with")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be written, and write nothing")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the list of files: text or json")
	complete(cmd, "role", strings.Split(contract.RoleNames(), ", ")...)
	complete(cmd, "runtime", string(scaffold.OpenTofu), string(scaffold.Terraform))
	complete(cmd, "contract", versions.Names()...)
	complete(cmd, "output", "text", "json")
	return cmd
}

// complete offers values for a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("completing a flag that does not exist: " + err.Error())
	}
}

// options turns the flags into options. Every error is one of usage.
func (f scaffoldFlags) options() (scaffold.Options, error) {
	o := scaffold.Options{Set: f.set, Contract: f.contract}
	if f.role == "" && !f.set && !f.update {
		return o, errors.New("one of --role, --set and --update is needed")
	}
	if f.role != "" && f.set {
		return o, errors.New("--role and --set exclude each other: a set has modules of all roles")
	}
	var err error
	if f.role != "" {
		if o.Role, err = contract.ParseRole(f.role); err != nil {
			return o, err
		}
	}
	if f.provider != "" {
		if o.Provider, err = scaffold.ParseProvider(f.provider); err != nil {
			return o, err
		}
	}
	if f.runtime != "" {
		if o.Runtime, err = scaffold.ParseRuntime(f.runtime); err != nil {
			return o, err
		}
	}
	if f.contract != "" {
		_, err = versions.Get(f.contract)
	}
	return o, err
}

func runScaffold(cmd *cobra.Command, f scaffoldFlags, dir string) error {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	if dir == "" {
		return usage(errors.New("the directory is an empty string"))
	}
	o, err := f.options()
	if err != nil {
		return usage(err)
	}
	if f.update {
		return updateScaffold(cmd, f, o, dir)
	}
	tree, err := scaffold.Generate(o)
	if err != nil {
		return err
	}
	if f.dryRun {
		err = scaffold.CheckTarget(dir)
	} else {
		err = tree.Write(cmd.Context(), dir)
	}
	if err != nil {
		return err
	}
	result := newScaffoldResult(dir, tree.Options, f.dryRun)
	for _, file := range tree.Files {
		result.Files = append(result.Files, scaffoldFile{Path: file.Path, Action: scaffold.ActionCreate, WrittenTo: file.Path})
	}
	if err := result.print(cmd.OutOrStdout(), f.output); err != nil {
		return err
	}
	if !f.dryRun {
		fmt.Fprintf(cmd.ErrOrStderr(), "Generated %d files in %s. README.md says what to do next.\n", len(tree.Files), placeName(dir))
	}
	return nil
}

// placeName is how a sentence calls a directory: one that ends in a dot would
// look like its end.
func placeName(dir string) string {
	if filepath.Clean(dir) == "." {
		return "the working directory"
	}
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(dir) == ".." {
		return abs
	}
	return dir
}

func updateScaffold(cmd *cobra.Command, f scaffoldFlags, o scaffold.Options, dir string) error {
	u, err := scaffold.PlanUpdate(dir, o)
	if err != nil {
		return err
	}
	if !f.dryRun {
		if err := u.Apply(cmd.Context()); err != nil {
			return err
		}
	}
	result := newScaffoldResult(dir, u.Options, f.dryRun)
	for _, c := range u.Changes {
		result.Files = append(result.Files, scaffoldFile{Path: c.Path, Action: c.Action, WrittenTo: c.WrittenTo, Diff: c.Diff})
	}
	if err := result.print(cmd.OutOrStdout(), f.output); err != nil {
		return err
	}
	conflicts := u.Conflicts()
	for _, c := range conflicts {
		fmt.Fprintf(cmd.ErrOrStderr(), "You edited %s, and its template changed: merge %s into it and remove that file.\n", c.Path, c.WrittenTo)
	}
	if len(conflicts) > 0 {
		return exit(exitFailed)
	}
	return nil
}

// scaffoldResult is what captf scaffold prints.
type scaffoldResult struct {
	Directory string             `json:"directory"`
	Contract  string             `json:"contract"`
	Roles     []contract.Role    `json:"roles"`
	Provider  *scaffold.Provider `json:"provider"`
	Runtime   scaffold.Runtime   `json:"runtime"`
	// DryRun tells that nothing was written.
	DryRun bool           `json:"dryRun"`
	Files  []scaffoldFile `json:"files"`
}

type scaffoldFile struct {
	Path   string          `json:"path"`
	Action scaffold.Action `json:"action"`
	// WrittenTo is the file that was written or removed, if any was.
	WrittenTo string `json:"writtenTo,omitempty"`
	Diff      string `json:"diff,omitempty"`
}

func newScaffoldResult(dir string, o scaffold.Options, dryRun bool) scaffoldResult {
	return scaffoldResult{
		Directory: dir, Contract: o.Contract, Roles: o.Roles(), Provider: o.Provider,
		Runtime: o.Runtime, DryRun: dryRun, Files: []scaffoldFile{},
	}
}

// print writes the result: a line a file, and below it how it changes.
func (r scaffoldResult) print(w io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	for _, f := range r.Files {
		line := fmt.Sprintf("%-9s  %s", f.Action, f.Path)
		if f.WrittenTo != "" && f.WrittenTo != f.Path {
			line += " (see " + f.WrittenTo + ")"
		}
		if _, err := fmt.Fprintf(w, "%s\n%s", line, f.Diff); err != nil {
			return err
		}
	}
	return nil
}
