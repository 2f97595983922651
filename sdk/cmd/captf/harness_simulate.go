package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// simulateFlags are the flags of captf harness run for simulated providers.
type simulateFlags struct {
	simulate bool
	schemas  []string
}

func addSimulateFlags(cmd *cobra.Command, f *simulateFlags) {
	cmd.Flags().BoolVar(&f.simulate, "simulate", false, "run the modules on simulated providers: nothing is installed, called or created in a cloud")
	cmd.Flags().StringArrayVar(&f.schemas, "schema", nil, "recorded provider schema for --simulate, as FILE or SOURCE=FILE; may be repeated; see captf simcloud record")
}

// simulation understands the flags; nil means real providers.
func (f simulateFlags) simulation() (*runner.Simulation, error) {
	if !f.simulate {
		if len(f.schemas) > 0 {
			return nil, errors.New("--schema is for --simulate")
		}
		return nil, nil
	}
	catalog, err := catalogOf(f.schemas)
	if err != nil {
		return nil, err
	}
	return &runner.Simulation{Catalog: catalog, Personas: persona.All()}, nil
}

// catalogOf has the built-in schemas and those of files, given as FILE or SOURCE=FILE.
func catalogOf(files []string) (*simcloud.Catalog, error) {
	catalog := simcloud.NewCatalog(schemas.Files)
	for _, arg := range files {
		source, file, ok := strings.Cut(arg, "=")
		if !ok {
			source, file = "", arg
		}
		if file == "" || ok && source == "" {
			return nil, usage(fmt.Errorf("parsing --schema %q: it must be FILE or SOURCE=FILE, such as hashicorp/aws=aws.json.gz", arg))
		}
		if err := catalog.AddFile(source, file); err != nil {
			return nil, err
		}
	}
	return catalog, nil
}

// offerSimulation says of an init that failed that the set can be played without
// its providers, where every one of them has a built-in schema.
func (r *harnessRun) offerSimulation(err error) error {
	failed, ok := errors.AsType[*runtime.RunError](err)
	if !ok || failed.Step != runtime.StepInit || r.simulate {
		return err
	}
	var dirs []string
	for _, role := range r.modules.Roles() {
		dirs = append(dirs, r.modules.Dir(role))
	}
	reader := module.OpenTofu
	if r.binary.Kind == runtime.Terraform {
		reader = module.Terraform
	}
	required, readErr := runner.Requirements(dirs, reader)
	known, knownErr := simcloud.NewCatalog(schemas.Files).Entries()
	if readErr != nil || knownErr != nil || len(required) == 0 {
		return err
	}
	for _, need := range required {
		if !slices.ContainsFunc(known, func(e simcloud.Entry) bool { return e.Source == need.Source }) {
			return err
		}
	}
	return fmt.Errorf("%w; with --simulate the set is played without its providers", err)
}

// cloudFile is where a simulated cloud is kept beside states that are kept.
const cloudFile = "simcloud.json"

// keepCloud keeps the simulated cloud with the states that are kept, and says what
// can be done with it.
func (r *harnessRun) keepCloud(run *runner.Runner, result *harness.Result) error {
	cloud := run.Cloud()
	if cloud == nil || result.Kept == "" {
		return nil
	}
	file := filepath.Join(result.Kept, cloudFile)
	if err := cloud.Save(file); err != nil {
		return err
	}
	fmt.Fprintf(r.stderr, "The simulated cloud of these states is kept too; a runtime finds it with:\n    captf simcloud serve --cloud %s\n", shellQuote(file))
	return nil
}
