package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/image"
	"github.com/captf-toolkit/captf/lint/rules"
)

// report are the flags that say what is checked against what, and how it is told.
type report struct {
	target
	strict, json bool
	output       string
	allow        idList
}

func (o *report) flags(cmd *cobra.Command) {
	o.target.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.strict, "strict", false, "let warnings fail the run")
	f.BoolVar(&o.json, "json", false, "the same as --output json")
	f.StringVarP(&o.output, "output", "o", "", "output `format`: "+formatNames()+" (default text)")
	f.Var(&o.allow, "allow-warning", "count the warnings of this check `ID` as info; repeatable, or a list with commas")
	must(cmd.RegisterFlagCompletionFunc("allow-warning", completeIDs))
	must(cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, f := range format.All() {
			out = append(out, f.Name+"\t"+f.Doc)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}))
}

// idList is the value of a flag that takes the IDs of checks: it is repeatable,
// and takes lists with commas.
type idList []string

// Set adds the IDs of one use of the flag.
func (l *idList) Set(s string) error {
	for id := range strings.SplitSeq(s, ",") {
		if id = strings.TrimSpace(id); id == "" {
			return errors.New("the ID of a check is missing; leave the flag out to allow nothing")
		}
		*l = append(*l, id)
	}
	return nil
}

// String writes the list as one use of the flag.
func (l *idList) String() string { return strings.Join(*l, ",") }

// Type is what the usage calls the value.
func (l *idList) Type() string { return "strings" }

func formatNames() string {
	var names []string
	for _, f := range format.All() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func (o *report) pickFormat() (format.Format, error) {
	name := o.output
	switch {
	case o.json && name != "" && name != "json":
		return format.Format{}, usage(fmt.Errorf("--json and --output %s exclude each other", name))
	case o.json:
		name = "json"
	case name == "":
		name = "text"
	}
	f, err := format.Find(name)
	if err != nil {
		return format.Format{}, usage(fmt.Errorf("--output: %w", err))
	}
	return f, nil
}

// known are all checks, of modules and of images: a list of warnings to allow
// serves both commands.
func known() []lint.Rule { return slices.Concat(rules.All(), image.Rules()) }

// allowances are the warnings that count as info, and what is to be said of
// those that have no effect.
func (o *report) allowances() (allow []lint.Allowance, notes []string, err error) {
	for _, id := range o.allow {
		switch r, ok := lint.Find(known(), id); {
		case !ok:
			return nil, nil, usage(unknownID("--allow-warning", id))
		case r.OnlyErrors():
			// No error, so that a list of warnings serves linters that differ in severity.
			notes = append(notes, fmt.Sprintf("--allow-warning: %s has no effect: the check reports only errors, and errors cannot be allowed", id))
			continue
		}
		allow = append(allow, lint.Allowance{ID: id, Reason: "by --allow-warning"})
	}
	return allow, notes, nil
}
