package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// addRegistrationFlags adds the flags that say how nodes find a server to join at.
func addRegistrationFlags(cmd *cobra.Command, f *harnessFlags) {
	flags := cmd.Flags()
	var methods []string
	for _, cp := range controlPlanes() {
		if names := registrationNames(cp); len(names) > 0 {
			methods = append(methods, cp.Name+" has "+strings.Join(names, ", "))
		}
	}
	flags.StringVar(&f.registrationMethod, "registration-method", "", "how joining nodes find a server: "+strings.Join(methods, "; ")+" (default the first)")
	flags.StringVar(&f.registrationAddress, "registration-address", "", "host that nodes join at, for the registration method that takes one")
	completeForPlane(cmd, "registration-method", registrationNames)
}

// registrationNames returns the names of a control plane's registration methods.
func registrationNames(cp *harness.ControlPlane) []string {
	names := make([]string, 0, len(cp.Registrations))
	for _, r := range cp.Registrations {
		names = append(names, r.Name)
	}
	return names
}

// completeForPlane completes a flag with values that the chosen control plane has.
func completeForPlane(cmd *cobra.Command, flag string, values func(*harness.ControlPlane) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		name, err := cmd.Flags().GetString("control-plane")
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		cp, err := findControlPlane(name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return values(cp), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic("completing a flag that does not exist: " + err.Error())
	}
}

// defaultScenarios says which scenario each control plane plays when none is chosen.
func defaultScenarios(planes []*harness.ControlPlane) string {
	texts := make([]string, 0, len(planes))
	for _, cp := range planes {
		texts = append(texts, cp.Scenarios[0].ID+" for "+cp.Name)
	}
	return strings.Join(texts, ", ")
}

// checkRegistration refuses a registration method that the control plane does
// not have, one that contradicts a scenario, and an address that is missing, in
// vain or no host.
func (f harnessFlags) checkRegistration(cp *harness.ControlPlane, scenarios []harness.Scenario) error {
	r, err := cp.FindRegistration(f.registrationMethod)
	if err != nil {
		return fmt.Errorf("parsing --registration-method: %w", err)
	}
	for _, s := range scenarios {
		if f.registrationMethod != "" && !f.all && s.Registration != "" && s.Registration != f.registrationMethod {
			return fmt.Errorf("parsing --registration-method %q: the scenario %s is about the method %s", f.registrationMethod, s.ID, s.Registration)
		}
	}
	switch takes := r != nil && r.TakesAddress; {
	case takes && f.registrationAddress == "":
		return fmt.Errorf("the registration method %s needs the host that nodes join at: give --registration-address HOST", r.Name)
	case !takes && f.registrationAddress != "":
		return fmt.Errorf("parsing --registration-address %q: only a registration method that takes a host needs one, and none was chosen", f.registrationAddress)
	case takes:
		if err := harness.CheckHost(f.registrationAddress); err != nil {
			return fmt.Errorf("parsing --registration-address %q: %w", f.registrationAddress, err)
		}
	}
	return nil
}
