package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// The programs that a control plane consists of.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
)

// Finder finds a program by its name, such as kube-apiserver, and returns its path.
type Finder func(ctx context.Context, program string) (string, error)

// FromEnvironment finds programs by environment variables of the form PREFIX_KUBE_APISERVER, and then on PATH.
func FromEnvironment(prefix string) Finder {
	return func(_ context.Context, program string) (string, error) {
		variable := Variable(prefix, program)
		if path := os.Getenv(variable); path != "" {
			if _, err := os.Stat(path); err != nil {
				return "", fmt.Errorf("finding %s by %s: %w", program, variable, err)
			}
			return path, nil
		}
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("finding %s: it is not on PATH; set %s to the program: %w", program, variable, err)
		}
		return path, nil
	}
}

// Variable is the name of the environment variable that FromEnvironment looks at for a program.
func Variable(prefix, program string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(program, "-", "_"))
}
