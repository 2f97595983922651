package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf-toolkit/captf/provider/testenv/kubelet/internal/jail"
)

// Isolation says how containers are kept from this machine.
type Isolation string

// The ways.
const (
	// IsolateAuto isolates as far as the machine allows.
	IsolateAuto Isolation = "auto"
	// IsolateStrictly makes it an error when the machine does not allow namespaces.
	IsolateStrictly Isolation = "strict"
	// IsolateNever runs containers as any other program, with paths rewritten.
	IsolateNever Isolation = "never"
)

// IsolationReport says what containers see of this machine.
type IsolationReport struct {
	// Namespaces tells that each container has its image for a root, real mounts, and its own processes.
	Namespaces bool
	// Users tells that containers run as the users that they ask for, and that files belong to them. Otherwise every
	// container's user is the one that runs this program.
	Users bool
	// Missing says what a container has not that it has in a cluster, a sentence each.
	Missing []string
}

// String is one line.
func (r IsolationReport) String() string {
	s := "containers run in namespaces"
	if !r.Namespaces {
		s = "containers run without namespaces, with rewritten paths"
	}
	if len(r.Missing) > 0 {
		s += ": " + strings.Join(r.Missing, "; ")
	}
	return s
}

// annotationIsolation is on the node, for whoever wonders about a pod.
const annotationIsolation = "testenv/isolation"

func (r IsolationReport) annotations() map[string]string {
	return map[string]string{annotationIsolation: r.String()}
}

// Isolation returns what containers see of this machine.
func (k *Kubelet) Isolation() IsolationReport { return k.isolation }

// isolate finds out what the machine allows.
func (k *Kubelet) isolate() error {
	if k.o.Isolation == IsolateNever {
		k.isolation.Missing = []string{"it was asked for"}
		return nil
	}
	root := os.Geteuid() == 0
	var failed []error
	for _, try := range []struct{ users, proc bool }{{root, true}, {root, false}, {false, true}, {false, false}} {
		if try.users && !root {
			continue
		}
		dir := filepath.Join(k.dir, "probe")
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		err := jail.Probe(dir, try.users, try.proc)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		k.jailed, k.allUsers, k.proc = true, try.users, try.proc
		k.isolation = IsolationReport{Namespaces: true, Users: try.users}
		if !try.users {
			k.isolation.Missing = append(k.isolation.Missing, "every container's user is the one that runs the tests")
		}
		if !try.proc {
			k.isolation.Missing = append(k.isolation.Missing, "there is no /proc")
		}
		k.o.Progress(k.isolation.String())
		return nil
	}
	if k.o.Isolation == IsolateStrictly {
		return fmt.Errorf("isolating containers: %w", errors.Join(failed...))
	}
	k.isolation.Missing = []string{"namespaces are not to be had (" + failed[0].Error() + ")"}
	k.o.Progress(k.isolation.String())
	return nil
}
