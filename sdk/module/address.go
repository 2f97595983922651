package module

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
)

// place writes a range's start as file:line.
func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// providerName reports a provider's local name that the runtimes refuse.
func (d *decoder) providerName(name string, at hcl.Range) bool {
	if msg := checkProviderPart(name); msg != "" {
		d.fail(at, "Invalid provider name", "%q %s", name, msg)
		return false
	}
	if lower := strings.ToLower(name); lower != name {
		d.fail(at, "Invalid provider name", "provider names are in lower case; write %q", lower)
		return false
	}
	return true
}

// checkProviderPart returns what is wrong with one part of a provider address.
func checkProviderPart(s string) string {
	switch {
	case s == "":
		return "is empty"
	case strings.HasPrefix(s, "-"), strings.HasSuffix(s, "-"):
		return "starts or ends with a dash"
	case strings.Contains(s, "--"):
		return "has two dashes in a row"
	}
	for _, r := range s {
		if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return "holds something else than letters, digits and dashes"
		}
	}
	return ""
}

// checkProviderSource returns what is wrong with a provider's source address.
func checkProviderSource(s string) string {
	parts := strings.Split(s, "/")
	if len(parts) > 3 {
		return fmt.Sprintf("%q has too many parts; write HOSTNAME/NAMESPACE/TYPE", s)
	}
	for i, p := range parts {
		if i == 0 && len(parts) == 3 {
			if p == "" || strings.ContainsAny(p, " \t\n@?#") {
				return fmt.Sprintf("%q does not start with a host name", s)
			}
			continue
		}
		if msg := checkProviderPart(p); msg != "" {
			return fmt.Sprintf("%q is not an address, for the part %q %s; write HOSTNAME/NAMESPACE/TYPE", s, p, msg)
		}
	}
	if len(parts) > 1 && strings.HasPrefix(strings.ToLower(parts[len(parts)-1]), "terraform-") {
		return fmt.Sprintf("%q names a repository, not a provider; leave terraform-provider- out", s)
	}
	return ""
}

var registryHosts = map[Runtime]string{
	Terraform: "registry.terraform.io",
	OpenTofu:  "registry.opentofu.org",
}

// builtinProvider is the one that both runtimes carry inside.
const builtinProvider = "terraform.io/builtin/terraform"

func providerAddress(name, source string, r Runtime) string {
	if source == "" {
		if name == "terraform" {
			return builtinProvider
		}
		return registryHosts[r] + "/hashicorp/" + name
	}
	source = strings.ToLower(source)
	switch strings.Count(source, "/") {
	case 0:
		return registryHosts[r] + "/hashicorp/" + source
	case 1:
		return registryHosts[r] + "/" + source
	}
	return source
}
