package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/schema"
	"github.com/captf-toolkit/captf/sdk/module"
)

// limitItem is the row of the contract's limits that bounds the label.
const limitItem = "variables schema"

func newSchema() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "schema --role ROLE DIR",
		Short: "Print the JSON Schema of the variables that a user can set",
		Long: `Prints the JSON Schema of the module's user variables on one line, for the image
label io.captf.variables-schema. With the label an object with an unknown or
missing variable is stopped before anything runs.`,
		Example: `  tfcapi-lint schema --role machine ./modules/machine`,
		Args:    oneDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			role, err := t.parseRole()
			if err != nil {
				return err
			}
			def, err := t.parseContract()
			if err != nil {
				return err
			}
			tree, err := module.Load(args[0], module.Options{})
			if load, ok := errors.AsType[*module.LoadError](err); ok {
				load.Dir = displayPath(args[0])
			}
			if err != nil {
				return unreadable(err)
			}
			text, err := schema.Of(tree.Primary, def.Spec(role))
			if err != nil {
				return unreadable(fmt.Errorf("writing the schema of %s: %w", args[0], err))
			}
			if limit := schemaLimit(def); limit > 0 && int64(len(text)) > limit {
				return &exitError{exitFindings, fmt.Errorf(
					"the schema of %s has %d bytes, and the label takes %d: use fewer or simpler variables, or publish the image without the label",
					args[0], len(text), limit)}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
			return err
		},
	}
	t.flags(cmd)
	cmd.ValidArgsFunction = completeDirs
	return cmd
}

func schemaLimit(def contract.Definition) int64 {
	for _, l := range def.Limits() {
		if l.Item == limitItem {
			return l.Value
		}
	}
	return 0
}
