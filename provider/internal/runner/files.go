package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/provider/internal/record"
)

const (
	// lockFile has the providers that init chose.
	lockFile = ".terraform.lock.hcl"
	// erroredState is where a runtime leaves a state that its backend did not take.
	erroredState = "errored.tfstate"
	// stampFile in the data directory tells what the last init was done for.
	stampFile = "captf-init"

	maxInitFiles = 10_000
	maxInitFile  = 16 << 20
)

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// remove deletes a file that holds secrets. That it is still there harms nobody but its reader.
func remove(path string) { _ = os.Remove(path) }

func writeSecret(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

func (r *run) stamp() string { return filepath.Join(r.o.Work, ".terraform", stampFile) }

// initialised reports whether the last init in the work directory still holds (design D7).
func (r *run) initialised(digest string) bool {
	stamp, err := readFile(r.stamp(), 1<<10)
	return err == nil && digest != "" && string(stamp) == digest
}

// rememberInit notes what init was done for. Without the note it runs again.
func (r *run) rememberInit() {
	digest := r.initDigest()
	if info, err := os.Stat(filepath.Dir(r.stamp())); digest == "" || err != nil || !info.IsDir() {
		return
	}
	if writeSecret(r.stamp(), []byte(digest)) != nil {
		remove(r.stamp())
	}
}

// initDigest covers what init reads: the runtime, its settings, the root without the values, the lock file, the CLI
// configuration and the module. It is "" if any of it cannot be read.
func (r *run) initDigest() string {
	h := sha256.New()
	bin, err := os.Stat(r.o.Bin[0])
	if err != nil {
		return ""
	}
	fmt.Fprintf(h, "%q %d %s %q\n", r.o.Bin, bin.Size(), bin.ModTime(), r.o.BackendConfig)
	files := 0
	add := func(path string, must bool) bool {
		content, err := readFile(path, maxInitFile)
		if err != nil {
			fmt.Fprintf(h, "%q missing\n", path)
			return !must
		}
		files++
		fmt.Fprintf(h, "%q %d\n", path, len(content))
		_, _ = h.Write(content) // a hash has no errors
		return files <= maxInitFiles
	}
	for _, name := range []string{record.KeyRoot, overrideFile, lockFile} {
		if !add(filepath.Join(r.work.root, name), false) {
			return ""
		}
	}
	if r.work.mirror && !add(filepath.Join(r.o.Work, filepath.Base(image.CLIConfigPath)), true) {
		return ""
	}
	err = filepath.WalkDir(r.o.Module, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && !add(path, true) {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || files > maxInitFiles {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
