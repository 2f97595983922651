package runtime

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables of the caller's environment that reach the runtime although their
// names begin with TF_: where plugins and registries are, never what is done.
// An entry ending in "*" is a prefix.
var passed = []string{
	"TF_PLUGIN_CACHE_*",
	"TF_PROVIDER_DOWNLOAD_RETRY",
	"TF_REATTACH_PROVIDERS",
	"TF_REGISTRY_*",
	"TF_TOKEN_*",
}

// environment is what a runtime process sees: everything the caller has, because
// providers read credentials and proxies from it, except TF_* variables outside
// [passed], which would change what a command does (arguments, variables,
// workspace, data directory) or print secrets (logs); then what we set, then
// extra, which wins.
func environment(parent []string, dir, cliConfig string, extra map[string]string) []string {
	env := map[string]string{}
	for _, kv := range parent {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || name == EnvRuntime {
			continue
		}
		if strings.HasPrefix(name, "TF_") && !matches(passed, name) {
			continue
		}
		env[name] = value
	}
	env["PWD"] = dir
	env["TF_CLI_CONFIG_FILE"] = cliConfig
	env["TF_IN_AUTOMATION"] = "1"
	env["TF_INPUT"] = "0"
	env["CHECKPOINT_DISABLE"] = "1"
	maps.Copy(env, extra)

	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || p == name {
			return true
		}
	}
	return false
}

// UserCLIConfig returns the path of the caller's own CLI configuration, for
// [WorkdirOptions].CLIConfig: the file of TF_CLI_CONFIG_FILE, else that of the home
// directory (.tofurc before .terraformrc for OpenTofu). It returns "" if there is
// none that can be opened; a variable that points at a missing file is ignored.
func (b *Binary) UserCLIConfig() string {
	candidates := []string{os.Getenv("TF_CLI_CONFIG_FILE")}
	if home, err := os.UserHomeDir(); err == nil {
		if b.Kind == OpenTofu {
			candidates = append(candidates, filepath.Join(home, ".tofurc"))
		}
		candidates = append(candidates, filepath.Join(home, ".terraformrc"))
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.Mode().IsRegular() {
			return c
		}
	}
	return ""
}

// secretNames are parts of environment variable names whose values are taken for
// secrets without being registered.
var secretNames = []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "PRIVATE_KEY", "API_KEY", "ACCESS_KEY"}

// environmentSecrets returns the values of variables that hold credentials by name.
func environmentSecrets(env []string) []string {
	var found []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		// Short values, such as a region or "true", would blank out ordinary words.
		if len(value) < 12 || filepath.IsAbs(value) {
			continue
		}
		if slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) }) {
			found = append(found, value)
		}
	}
	return found
}
