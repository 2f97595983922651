package main

import (
	"fmt"
	"io"

	"github.com/captf-toolkit/captf/lint/fix"
	"github.com/captf-toolkit/captf/sdk/module"
)

// fix edits the modules, or prints the edits as a diff. A module that cannot be
// read is left to the check, which says why.
func (p *plan) fix(stdout, stderr io.Writer, diff bool) error {
	for _, t := range p.targets {
		tree, err := module.Load(t.Dir, module.Options{})
		if err != nil {
			continue
		}
		edits, err := fix.For(tree, p.options(t))
		if err != nil {
			return unreadable(err)
		}
		at := displayPath(t.Dir)
		for _, s := range edits.Skipped {
			fmt.Fprintf(stderr, "not fixed in %s: %s\n", at, s)
		}
		if diff {
			if _, err := io.WriteString(stdout, edits.Diff(at)); err != nil {
				return unreadable(fmt.Errorf("writing the diff: %w", err))
			}
			continue
		}
		if err := edits.Apply(t.Dir); err != nil {
			return unreadable(err)
		}
		for _, c := range edits.Changes {
			for _, done := range c.Done {
				fmt.Fprintf(stderr, "fixed %s/%s: %s\n", at, c.File, done)
			}
		}
	}
	return nil
}
