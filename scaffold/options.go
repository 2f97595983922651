package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

// Generation counts the changes of what this package generates. A record with a
// greater number was written by a newer release and is left alone.
const Generation = 1

// Options say what to generate.
type Options struct {
	// Role is the role of the one module that is generated; empty for a set.
	Role contract.Role
	// Set asks for a module for every role, each in a directory named after it.
	Set bool
	// Contract is the version token of the contract; empty is the newest.
	Contract string
	// Provider is required by the modules; nil generates modules without any.
	Provider *Provider
	// Runtime is the runtime that README and workflow call; empty is tofu. The
	// modules run on both.
	Runtime Runtime
}

// Runtime is the name of a runtime's command.
type Runtime string

// The runtimes.
const (
	OpenTofu  Runtime = "tofu"
	Terraform Runtime = "terraform"
)

// ParseRuntime returns the runtime named s. The error lists what there is.
func ParseRuntime(s string) (Runtime, error) {
	if r := Runtime(s); r == OpenTofu || r == Terraform {
		return r, nil
	}
	return "", fmt.Errorf("parsing runtime %q: it is %s or %s", s, OpenTofu, Terraform)
}

// Roles returns the roles to generate modules for.
func (o Options) Roles() []contract.Role {
	if o.Set {
		return contract.Roles()
	}
	return []contract.Role{o.Role}
}

// complete checks the options, fills in defaults and looks the contract up.
func (o Options) complete() (Options, contract.Definition, error) {
	if o.Set && o.Role != "" {
		return o, nil, fmt.Errorf("choosing what to generate: a set has modules of all roles, so role %s cannot be given with it", o.Role)
	}
	if !o.Set {
		role, err := contract.ParseRole(string(o.Role))
		if err != nil {
			return o, nil, err
		}
		o.Role = role
	}
	if o.Contract == "" {
		o.Contract = versions.Default().Version()
	}
	def, err := versions.Get(o.Contract)
	if err != nil {
		return o, nil, err
	}
	if o.Runtime == "" {
		o.Runtime = OpenTofu
	}
	if o.Runtime, err = ParseRuntime(string(o.Runtime)); err != nil {
		return o, nil, err
	}
	if o.Provider != nil {
		if err := o.Provider.check(); err != nil {
			return o, nil, err
		}
	}
	return o, def, nil
}

// Provider is a provider pinned to one version.
type Provider struct {
	// Source is the provider's address, such as hashicorp/aws or
	// registry.example.com/acme/cloud.
	Source string `json:"source"`
	// Version is the exact version, such as 6.25.0.
	Version string `json:"version"`
}

// Name returns the local name of the provider, which is its type.
func (p Provider) Name() string {
	return p.Source[strings.LastIndexByte(p.Source, '/')+1:]
}

func (p Provider) String() string { return p.Source + "@" + p.Version }

var (
	hostPattern    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?$`)
	partPattern    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
)

// ParseProvider parses SOURCE@VERSION, such as hashicorp/aws@6.25.0. The source
// has a namespace and a type, and a host before them unless it is the runtime's
// own registry; the version is exact, since an image mirrors exactly one.
func ParseProvider(s string) (*Provider, error) {
	source, ver, found := strings.Cut(s, "@")
	if !found {
		return nil, fmt.Errorf("parsing provider %q: a version is missing; write SOURCE@VERSION, such as hashicorp/aws@6.25.0", s)
	}
	p := &Provider{Source: source, Version: ver}
	return p, p.check()
}

func (p Provider) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("parsing provider %q: %s", p.String(), fmt.Sprintf(format, args...))
	}
	parts := strings.Split(p.Source, "/")
	switch len(parts) {
	case 2:
	case 3:
		if !hostPattern.MatchString(parts[0]) {
			return fail("%q is no host name; the source is [HOST/]NAMESPACE/TYPE", parts[0])
		}
		parts = parts[1:]
	case 1:
		return fail("the namespace is missing; the source is [HOST/]NAMESPACE/TYPE, such as hashicorp/aws")
	default:
		return fail("the source has %d parts; it is [HOST/]NAMESPACE/TYPE, such as hashicorp/aws", len(parts))
	}
	for _, part := range parts {
		if !partPattern.MatchString(part) {
			return fail("%q is no namespace or type: it is made of lower-case letters, digits and single hyphens", part)
		}
	}
	if strings.HasPrefix(p.Source, "terraform.io/builtin/") {
		return fail("a built-in provider has no version and needs no requirement")
	}
	if parts[1] == "terraform" {
		if parts[0] == "hashicorp" {
			return fail("the provider is built into the runtime, needs no requirement and has no version of its own")
		}
		return fail("the name terraform is that of the provider that is built into the runtime, which the terraform_data resources of the module need")
	}
	if name := parts[1]; strings.HasPrefix(name, "terraform-provider-") {
		return fail("the type goes without the prefix of the repository: %s/%s", parts[0], strings.TrimPrefix(name, "terraform-provider-"))
	}
	// A name that starts with a digit can be required, but no block can name it.
	if name := parts[1]; name[0] >= '0' && name[0] <= '9' {
		return fail("the type %q starts with a digit, so that it cannot serve as the provider's name in a module", name)
	}
	if !versionPattern.MatchString(p.Version) {
		return fail("%q is no exact version; write all three numbers and no operator, such as 6.25.0", p.Version)
	}
	return nil
}

// Equal tells that both options ask for the same modules.
func (o Options) equalRoles(other Options) bool {
	return slices.Equal(o.Roles(), other.Roles())
}
