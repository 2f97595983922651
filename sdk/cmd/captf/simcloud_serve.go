package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
)

func newSimcloudServeCommand() *cobra.Command {
	var files []string
	var cloudFile string
	cmd := &cobra.Command{
		Use:   "serve [flags] [SOURCE...]",
		Short: "Serve simulated providers to a runtime that you run by hand",
		Long: `Serve simulated providers until an interrupt (Ctrl-C, SIGTERM).

It prints one line for a shell, which lets tofu or terraform in that shell use the
simulated providers: nothing is installed, called or created in a cloud. Without
SOURCE all known providers are served.

With --cloud FILE what exists is read from a file at the beginning and written to it
at the end, so that it lasts as long as the states that know of it.

Exit codes: ` + strconv.Itoa(exitOK) + ` ended by an interrupt; ` + strconv.Itoa(exitError) + ` it cannot serve, or not save; ` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # In one terminal
  captf simcloud serve hashicorp/aws

  # In another one, with the line that it printed
  export TF_REATTACH_PROVIDERS=...
  tofu apply`,
		RunE: func(cmd *cobra.Command, args []string) error {
			catalog, err := catalogOf(files)
			if err != nil {
				return err
			}
			return serveSimcloud(cmd, catalog, cloudFile, args)
		},
	}
	cmd.Flags().StringArrayVar(&files, "schema", nil, "a further schema, as FILE or SOURCE=FILE; may be repeated")
	cmd.Flags().StringVar(&cloudFile, "cloud", "", "file that keeps what exists")
	return cmd
}

func serveSimcloud(cmd *cobra.Command, catalog *simcloud.Catalog, file string, sources []string) error {
	if len(sources) == 0 {
		entries, err := catalog.Entries()
		if err != nil {
			return err
		}
		for _, e := range entries {
			sources = append(sources, e.Source)
		}
	}
	cloud := simcloud.NewCloud(simcloud.Limits{})
	if file != "" {
		var err error
		if cloud, err = simcloud.LoadCloud(file, simcloud.Limits{}); err != nil {
			return err
		}
	}
	o := simcloud.Options{Cloud: cloud}
	for _, source := range sources {
		known := persona.For(simcloud.PlainSource(source))
		schema, err := catalog.Schema(source, nil, known)
		if err != nil {
			return err
		}
		o.Providers = append(o.Providers, simcloud.Provider{Schema: schema, Persona: known})
	}
	signals := watchInterrupts(cmd.Context(), func(int) {})
	defer signals.stop()
	server, err := simcloud.Start(o)
	if err != nil {
		return err
	}
	value, err := server.ReattachConfig()
	if err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "export TF_REATTACH_PROVIDERS=%s\n", shellQuote(value))
	}
	if err == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "Serving until an interrupt; the line above is for the shell in which the runtime runs.")
		select {
		case <-signals.ctx.Done():
		case <-cmd.Context().Done():
		}
	}
	err = errors.Join(err, server.Close())
	if file != "" {
		err = errors.Join(err, cloud.Save(file))
	}
	return err
}
