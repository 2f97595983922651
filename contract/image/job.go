package image

import (
	"slices"
	"strconv"
	"strings"
)

// The directories of a Job (image.md 8). The root directory of a run lies in
// the work directory.
const (
	// WorkPath is the scratch directory, which is the home directory of a Job.
	WorkPath = "/captf/work"
	// RootPath is where the generated root lies and commands are run.
	RootPath = WorkPath + "/root"
	// CLIConfigPath is the runtime's configuration file, if there is a mirror.
	CLIConfigPath = WorkPath + "/cli.tfrc"
)

// CLIConfig is the runtime's configuration for an image with a provider mirror
// (image.md 3): a provider that the mirror lacks makes init fail instead of being
// downloaded. A pattern of two parts would match the default host only.
const CLIConfig = `provider_installation {
  filesystem_mirror {
    path    = "` + ProvidersPath + `"
    include = ["*/*/*"]
  }
  direct {
    exclude = ["*/*/*"]
  }
}
`

// ReservedVariable tells that an environment variable would change what is run, or how: such variables never reach the
// runtime, wherever they come from (image.md 8).
func ReservedVariable(name string) bool {
	return strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "KUBE_")
}

// Environment is that of the runtime in a Job (image.md 8), as NAME=value sorted
// by name: the image's own variables, and those that the run sets. What starts
// with TF_ or KUBE_ would change what is run: it is dropped, and returned by
// name. TMPDIR is kept if the image sets it.
func Environment(image []string, namespace string, mirror bool) (env, dropped []string) {
	values := map[string]string{}
	for _, v := range image {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "":
		case ReservedVariable(name):
			dropped = append(dropped, name)
		default:
			values[name] = value
		}
	}
	if values["TMPDIR"] == "" {
		values["TMPDIR"] = "/tmp"
	}
	values["HOME"] = WorkPath
	values["TF_DATA_DIR"] = WorkPath + "/.terraform"
	values["TF_IN_AUTOMATION"] = "1"
	values["TF_INPUT"] = "0"
	values["KUBE_NAMESPACE"] = namespace
	values["CHECKPOINT_DISABLE"] = "1"
	if mirror {
		values["TF_CLI_CONFIG_FILE"] = CLIConfigPath
	}
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(dropped)
	return env, dropped
}

// CLIConfigFor is [CLIConfig] for a mirror in another directory.
func CLIConfigFor(providers string) string {
	return strings.Replace(CLIConfig, `"`+ProvidersPath+`"`, hclString(providers), 1)
}

// hclString quotes a text for HCL, where a dollar or a percent sign before a brace opens a template.
func hclString(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}

// kept are the variables with a reserved prefix that a Job sets for the runner to hand on.
var kept = []string{"TF_IN_AUTOMATION", "TF_INPUT", "KUBE_NAMESPACE"}

// RunEnvironment is what a runner gives the runtime of the environment that it has itself (image.md 8, B-584), as
// NAME=value sorted by name: everything but what starts with TF_ or KUBE_, of which it keeps what a Job sets. The names of
// what it drops are returned. The home, data and, if there is no other, temporary directories lie in the work directory.
// The caller adds what belongs to its run.
func RunEnvironment(process []string, work string) (env, dropped []string) {
	values := map[string]string{}
	for _, v := range process {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "":
		case !slices.Contains(kept, name) && (strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "KUBE_")):
			dropped = append(dropped, name)
		default:
			values[name] = value
		}
	}
	for name, value := range map[string]string{
		"TMPDIR": work + "/tmp", "TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1",
	} {
		if values[name] == "" {
			values[name] = value
		}
	}
	values["HOME"] = work
	values["TF_DATA_DIR"] = work + "/.terraform"
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(dropped)
	return env, dropped
}
