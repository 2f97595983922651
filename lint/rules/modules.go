package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var moduleBackend = lint.Rule{
	ID:         "module/backend",
	Severities: isError,
	Summary:    "The module, or a local module that it calls, has a `backend` block.",
	Why:        "State belongs to the generated root. A backend in a child module is ignored at best, and makes the module's author believe that the state is somewhere else.",
	Fix:        "Remove the block.",
	Bad: `terraform {
  backend "s3" {}
}`,
	Good: `terraform {
  required_version = ">= 1.5.0"
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R1"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, b := range m.Backends {
				c.Errorf(b.DefRange, "remove the block", "a module has no backend of its own: the generated root keeps the state")
			}
		}
	},
}

var moduleCloud = lint.Rule{
	ID:         "module/cloud",
	Severities: isError,
	Summary:    "The module, or a local module that it calls, has a `cloud` block.",
	Why:        "State belongs to the generated root, and runs happen in the cluster.",
	Fix:        "Remove the block.",
	Bad: `terraform {
  cloud {
    organization = "example"
  }
}`,
	Good: `terraform {
  required_version = ">= 1.5.0"
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R1"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, b := range m.Clouds {
				c.Errorf(b.DefRange, "remove the block", "a module has no cloud block: the generated root keeps the state")
			}
		}
	},
}

var moduleImport = lint.Rule{
	ID:         "module/import",
	Severities: isError,
	Summary:    "The module, or a local module that it calls, has an `import` block.",
	Why:        "Both runtimes take import blocks in a root module only, and refuse to initialize a root that calls a module with one. The root is generated here.",
	Fix:        "Remove the block, and have what exists already passed in by its identifier.",
	Bad: `import {
  to = terraform_data.instance
  id = "i-0123"
}`,
	Good: `variable "network_id" {
  type    = string
  default = null
}`,
	Rules: []string{"contract.md 3 R1"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, b := range m.Imports {
				c.Errorf(b.DefRange, "remove the block", "only a root module can import, and the root is generated: no run could initialize this module")
			}
		}
	},
}

var moduleSourceEscape = lint.Rule{
	ID:         "module/source-escape",
	Severities: isError,
	Summary:    "A local module call or a module file leads out of the module directory, is an absolute path, leads nowhere, leads back to itself, or has a form that the runtimes refuse.",
	Why:        "Only the module directory is shipped in the image; what lies outside is missing there.",
	Fix:        "Keep local modules inside the module directory, and write their source with a leading `./` or `../`.",
	Bad: `module "network" {
  source = "../../shared/network"
}`,
	Good: `module "network" {
  source = "./modules/network"
}`,
	Rules: []string{"lint.md 3", "lint.md 9 L15, L16"},
	Check: func(c *lint.Context) {
		for _, e := range c.Tree.Escapes {
			message, fix := describeEscape(e)
			c.Errorf(e.Range, fix, "%s", message)
		}
	},
}

func describeEscape(e module.Escape) (message, fix string) {
	switch e.Kind {
	case module.EscapeFile:
		return fmt.Sprintf("the module file %s is a link to %s, outside the module directory", e.Source, e.Target), "copy the file into the module"
	case module.EscapeUnresolved:
		return fmt.Sprintf("module %q: there is no module in %s", e.Call, orSource(e)), "correct the source, or add the module"
	case module.EscapeCycle:
		return fmt.Sprintf("module %q leads back to itself: %s", e.Call, orSource(e)), "break the cycle"
	case module.EscapeBarePath:
		return fmt.Sprintf("module %q: the runtimes do not take the source %q as a local path", e.Call, e.Source), "start the path with ./ or ../"
	case module.EscapeAbsolute:
		return fmt.Sprintf("module %q: the source %q is an absolute path, which leads nowhere in an image", e.Call, e.Source),
			"move the called module inside the module directory, and start the path with ./ or ../"
	default:
		return fmt.Sprintf("module %q: the source %q leads out of the module directory", e.Call, e.Source), "move the called module inside the module directory"
	}
}

func orSource(e module.Escape) string {
	if e.Target != "" {
		return e.Target
	}
	return e.Source
}

var moduleRemoteSource = lint.Rule{
	ID:         "module/remote-source",
	Severities: isInfo,
	Summary:    "A module call has a source that is fetched from elsewhere.",
	Why:        "It needs the network at init, where a run may have none, and this linter does not see what is inside.",
	Fix:        "Vendor the module under the module directory.",
	Bad: `module "network" {
  source  = "example/network/null"
  version = "1.2.3"
}`,
	Good: `module "network" {
  source = "./modules/network"
}`,
	Rules: []string{"lint.md 8 G10", "lint.md 3"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			for _, call := range m.Calls {
				switch call.Kind {
				case module.SourceRemote:
					c.Infof(call.RangeOf("source"), "vendor the module under the module directory",
						"module %q comes from %q: it is fetched at init, and not checked here", call.Name, call.Source)
				case module.SourceUnknown:
					c.Infof(call.RangeOf("source"), "write the source as a literal",
						"the source of module %q is only known at run time, so the module is not checked here", call.Name)
				}
			}
		}
	},
}

var moduleVersion = lint.Rule{
	ID:         "module/version",
	Severities: isInfo,
	Summary:    "The root module has no `required_version`.",
	Why:        "Without it a runtime that the module was never tested with fails somewhere in the middle, instead of at once.",
	Fix:        "Declare the versions that the module is tested with.",
	Bad:        `# no required_version`,
	Good: `terraform {
  required_version = ">= 1.5.0"
}`,
	Rules: []string{"lint.md 4", "lint.md 9 L10"},
	Check: func(c *lint.Context) {
		if !declaresVersion(c) && c.Tree.Complete(c.Root) {
			c.Infof(hcl.Range{}, "add required_version with the versions that the module is tested with", "the module does not say which versions of the runtime it works with")
		}
	},
}

// declaresVersion tells that the root module says which versions it works with;
// compatible_with counts for an OpenTofu-only module, since Terraform refuses it.
func declaresVersion(c *lint.Context) bool {
	return slices.ContainsFunc(c.Root.Versions, func(v *module.VersionConstraint) bool {
		return v.Argument == "required_version" || c.Tree.Terraform == nil
	})
}

var moduleProviderPin = lint.Rule{
	ID:         "module/provider-pin",
	Severities: isInfo,
	Summary:    "A provider is used without an entry in `required_providers`, or its entry has no version.",
	Why:        "Whatever version is newest when the image is built gets in; a major version can change arguments.",
	Fix:        "Add the provider to `required_providers` with a source and a version.",
	Bad: `terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}`,
	Good: `terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }
}`,
	Rules: []string{"lint.md 8 G11"},
	Check: func(c *lint.Context) {
		for _, m := range c.Modules() {
			if !c.Tree.Complete(m) {
				continue // required_providers may be in the file that was not read
			}
			declared := map[string]bool{}
			for _, p := range m.RequiredProviders {
				declared[p.Name] = true
				if p.Version == "" && !builtin(p.Address(m.Runtime)) {
					c.Infof(p.Range, "add version", "the provider %q has no version", p.Name)
				}
			}
			for _, use := range providersUsed(m) {
				if !declared[use.name] {
					c.Infof(use.at, "add it to required_providers with source and version",
						"the provider %q is used, but required_providers does not name it", use.name)
				}
			}
		}
	},
}

func builtin(address string) bool { return strings.HasPrefix(address, "terraform.io/builtin/") }

type providerUse struct {
	name string
	at   hcl.Range
}

// providersUsed returns the providers that the module's resources, provider
// blocks and, in native syntax, function calls imply, each with its first use.
func providersUsed(m *module.Module) []providerUse {
	var uses []providerUse
	add := func(name string, at hcl.Range) {
		known := slices.ContainsFunc(uses, func(u providerUse) bool { return u.name == name })
		if !known && name != "terraform" {
			uses = append(uses, providerUse{name, at})
		}
	}
	for _, p := range m.Providers {
		add(p.Name, p.DefRange)
	}
	for _, r := range m.Resources {
		if r.Provider != nil {
			add(r.Provider.Name, r.DefRange)
			continue
		}
		name, _, _ := strings.Cut(r.Type, "_")
		add(name, r.DefRange)
	}
	var files []*module.File
	for _, f := range m.Files {
		if bytes.Contains(f.Bytes, []byte("provider::")) {
			files = append(files, f)
		}
	}
	for _, call := range functionCalls(files) {
		if parts := strings.Split(call.Name, "::"); len(parts) == 3 && parts[0] == "provider" {
			add(parts[1], call.Range())
		}
	}
	return uses
}
