package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/versions"
)

// Stamped by a release build; otherwise what the Go toolchain recorded is used.
var version, commit, date string

// buildVersion is what the version command reports; its keys are binding.
type buildVersion struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit"`
	Date     string   `json:"date"`
	Contract []string `json:"contract"`
}

func currentVersion() buildVersion {
	v := buildVersion{Version: version, Commit: commit, Date: date, Contract: versions.Names()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	fill := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	fill(&v.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			fill(&v.Commit, s.Value)
		case "vcs.time":
			fill(&v.Date, s.Value)
		}
	}
	fill(&v.Version, "(devel)")
	return v
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the contract versions that are supported",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return usage(err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				return printVersion(cmd.OutOrStdout(), "short")
			}
			b, err := json.Marshal(currentVersion())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printVersion prints one line, or with the form raw all that is known.
func printVersion(w io.Writer, form string) error {
	switch form {
	case "short":
		_, err := fmt.Fprintf(w, "tfcapi-lint %s\n", currentVersion().Version)
		return err
	case "raw":
		info, ok := debug.ReadBuildInfo()
		if !ok {
			_, err := fmt.Fprintf(w, "%+v\n", currentVersion())
			return err
		}
		_, err := fmt.Fprintf(w, "%+v\n%s", currentVersion(), info)
		return err
	}
	return usage(fmt.Errorf("--version: unknown form %q: give none, or raw", form))
}
