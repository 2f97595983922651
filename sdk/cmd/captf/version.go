package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract/versions"
)

// Stamped by a release build: -ldflags "-X main.version=v1.2.3". Without it the
// version recorded by the Go toolchain is used.
var version, commit, date string

// versionInfo is the result of captf version.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	// Contract lists the supported contract versions, newest first.
	Contract []string `json:"contract"`
}

// currentVersion returns what a release build stamped, else what the Go toolchain
// recorded.
func currentVersion() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Date: date, Contract: versions.Names()}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(v.Version, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = cmp.Or(v.Commit, s.Value)
			case "vcs.time":
				v.Date = cmp.Or(v.Date, s.Value)
			}
		}
	}
	v.Version = cmp.Or(v.Version, "(devel)")
	return v
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "text", "json"); err != nil {
				return err
			}
			v := currentVersion()
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "captf %s\n", v.Version)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format of the result: text or json")
	return cmd
}
