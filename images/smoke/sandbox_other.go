//go:build !linux

package smoke

import (
	"context"
	"os"
)

// Init has to be called first in the main function of a program that calls Run;
// it matters on Linux only.
func Init() {}

func newSandbox(_ context.Context, dir, _ string) (sandbox, []string, error) {
	box := open{newPlace(dir)}
	for _, d := range []string{box.work, box.tmp} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, nil, err
		}
	}
	return box, []string{"the file system and the network: only Linux has namespaces"}, nil
}
