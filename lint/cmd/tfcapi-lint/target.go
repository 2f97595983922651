package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

// target are the flags that say what a module is to be.
type target struct {
	role     string
	contract string
}

func (t *target) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.role, "role", "", "role of the module: "+contract.RoleNames())
	f.StringVar(&t.contract, "contract", versions.Default().Version(), "contract version: "+strings.Join(versions.Names(), ", "))
	must(cmd.RegisterFlagCompletionFunc("role", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, r := range contract.Roles() {
			names = append(names, string(r))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}))
	must(cmd.RegisterFlagCompletionFunc("contract", completeContracts))
}

// parseRole returns the role, which has to be given.
func (t *target) parseRole() (contract.Role, error) {
	if t.role == "" {
		return "", usage(fmt.Errorf("--role is missing: it is one of %s", contract.RoleNames()))
	}
	role, err := contract.ParseRole(t.role)
	if err != nil {
		return "", usage(fmt.Errorf("--role: %w", err))
	}
	return role, nil
}

func (t *target) parseContract() (contract.Definition, error) {
	def, err := versions.Get(t.contract)
	if err != nil {
		return nil, usage(fmt.Errorf("--contract: %w", err))
	}
	return def, nil
}

// oneDir takes exactly one argument, the directory.
func oneDir(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "":
		return usage(errors.New("the directory to check is missing"))
	case len(args) > 1:
		return usage(fmt.Errorf("one directory is expected, not %d: %s", len(args), strings.Join(args, " ")))
	}
	return nil
}
