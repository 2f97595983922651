package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cached asks the repository's build script for the OpenTofu that `make tools` built. It
// does not build: a test that compiles for minutes looks like one that hangs.
func cached() (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	script := filepath.Join(root, ".ci", "tools", "build")
	cmd := exec.CommandContext(context.Background(), script, "opentofu") // it only looks up
	cmd.Env = append(os.Environ(), "CAPTF_NO_BUILD=1")
	out, err := cmd.Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) && len(ee.Stderr) > 0 {
			return "", fmt.Errorf("asking .ci/tools/build for OpenTofu: %s", strings.TrimSpace(string(ee.Stderr)))
		}
		return "", fmt.Errorf("asking .ci/tools/build for OpenTofu: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// repositoryRoot is the directory above that has .ci/tools beside go.mod.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".ci", "tools")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the tests do not run in the repository")
		}
		dir = parent
	}
}
