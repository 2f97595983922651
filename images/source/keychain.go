package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/captf-toolkit/captf/images/regular"
)

// maxAuthFile bounds a file of credentials, in bytes.
const maxAuthFile = 4 << 20

// Keychain finds the credentials that docker login and podman login left, in the
// order of lint.md 5.1: $DOCKER_CONFIG/config.json, or ~/.docker/config.json when
// that is not set; $REGISTRY_AUTH_FILE; $XDG_RUNTIME_DIR/containers/auth.json. The
// first that has an entry for the repository, for a part of its path, or for its
// registry wins; without one, access is anonymous.
type Keychain struct {
	files []string

	mu    sync.Mutex
	notes []string
}

// NewKeychain returns the keychain of an environment; nil is the process's own.
func NewKeychain(getenv func(string) string) *Keychain {
	if getenv == nil {
		getenv = os.Getenv
	}
	k := &Keychain{}
	if dir := getenv("DOCKER_CONFIG"); dir != "" {
		k.files = append(k.files, filepath.Join(dir, "config.json"))
	} else if home := getenv("HOME"); home != "" {
		k.files = append(k.files, filepath.Join(home, ".docker", "config.json"))
	} else if home, err := os.UserHomeDir(); err == nil {
		k.files = append(k.files, filepath.Join(home, ".docker", "config.json"))
	}
	if file := getenv("REGISTRY_AUTH_FILE"); file != "" {
		k.files = append(k.files, file)
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		k.files = append(k.files, filepath.Join(dir, "containers", "auth.json"))
	}
	return k
}

// Files returns the files that are looked at, in order, whether they exist or not.
func (k *Keychain) Files() []string { return append([]string(nil), k.files...) }

// Notes returns what was found while credentials were looked for, a line for each
// file. It never holds credentials.
func (k *Keychain) Notes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.notes...)
}

// Resolve implements authn.Keychain. A file that cannot be read or parsed, and a
// credential helper that does not work, is noted and passed over: the image may
// be public.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = nil
	for _, path := range k.files {
		file, err := readAuthFile(path)
		if err != nil {
			k.note("%s: %s", path, err)
			continue
		}
		found, err := lookUp(file, target)
		if err != nil {
			k.note("%s: %s", path, err)
		}
		if found != nil {
			k.note("%s: has an entry for %s", path, target.RegistryStr())
			return found, nil
		}
		if err == nil {
			k.note("%s: has no entry for %s", path, target.RegistryStr())
		}
	}
	return authn.Anonymous, nil
}

func (k *Keychain) note(format string, args ...any) {
	k.notes = append(k.notes, printable(fmt.Sprintf(format, args...)))
}

func readAuthFile(path string) (*configfile.ConfigFile, error) {
	f, _, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("does not exist")
	}
	if errors.Is(err, regular.ErrType) {
		return nil, errors.New("is not a regular file")
	}
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAuthFile+1))
	if err != nil || len(data) > maxAuthFile {
		return nil, errors.New("cannot be read")
	}
	parsed, err := config.LoadFromReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("is not a valid configuration") // The cause may quote a secret.
	}
	return parsed, nil
}

// lookUp returns nil without an entry.
func lookUp(file *configfile.ConfigFile, target authn.Resource) (authn.Authenticator, error) {
	var problem error
	for _, key := range authKeys(target) {
		cfg, err := file.GetAuthConfig(key)
		if err != nil {
			problem = errors.New("its credential helper does not work: " + printable(scrub(err.Error())))
			continue
		}
		cfg.ServerAddress = ""
		if cfg == (types.AuthConfig{}) {
			continue
		}
		return authn.FromConfig(authn.AuthConfig{
			Username: cfg.Username, Password: cfg.Password, Auth: cfg.Auth,
			IdentityToken: cfg.IdentityToken, RegistryToken: cfg.RegistryToken,
		}), nil
	}
	return nil, problem
}

// authKeys are the keys of a repository, the most specific first, as podman
// defines them; Docker knows the registry's only.
func authKeys(target authn.Resource) []string {
	var keys []string
	for key := target.String(); strings.Contains(key, "/"); key = key[:strings.LastIndex(key, "/")] {
		keys = append(keys, key)
	}
	if target.RegistryStr() == name.DefaultRegistry {
		return append(keys, authn.DefaultAuthKey, "docker.io")
	}
	return append(keys, target.RegistryStr())
}
