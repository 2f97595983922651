package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/spf13/cobra"
)

// versionInfo is the result of captf version.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	// Contract lists the supported contract versions, newest first.
	Contract []string `json:"contract"`
}

// currentVersion reads what the build recorded; what it did not is "unknown".
func currentVersion() versionInfo {
	v := versionInfo{Version: version, Commit: "unknown", Date: "unknown", Contract: versions.Names()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	if v.Version == "" {
		v.Version = "unknown"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		}
	}
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
