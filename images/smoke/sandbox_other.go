//go:build !linux

package smoke

import (
	"context"
	"errors"
)

var errOutside = errors.New("it is a link to a program outside of the unpacked image")

// Init has to be called first in the main function of a program that calls Run;
// it matters on Linux only.
func Init() {}

func newSandbox(_ context.Context, dir, _ string) (sandbox, []string, error) {
	return open{newPlace(dir)}, []string{"the file system and the network: only Linux has namespaces"}, nil
}
