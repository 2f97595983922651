package image

import (
	"slices"
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
		case strings.HasPrefix(name, "TF_"), strings.HasPrefix(name, "KUBE_"):
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
