package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// leak writes all that is in the environment and among the credentials, and fails.
func leak(out io.Writer) {
	for _, e := range os.Environ() {
		fmt.Fprintf(out, "leaked[env] %s\n", e)
	}
	files, _ := filepath.Glob("/var/run/captf/credentials/*")
	for _, f := range files {
		if raw, err := os.ReadFile(f); err == nil {
			fmt.Fprintf(out, "leaked[%s] %s\n", f, strings.TrimSpace(string(raw)))
		}
	}
	os.Exit(1)
}
