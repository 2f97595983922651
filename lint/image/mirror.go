package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var mirrorRules = []rule{
	{
		Rule: lint.Rule{
			ID: "image/providers-absent", Severities: isInfo,
			Summary: "There is no provider mirror at `/captf/providers`.",
			Why:     "Every run downloads the providers: it needs the registry to be there, and is slower.",
			Fix:     "Add a mirror with `tofu providers mirror` or `terraform providers mirror`.",
			Bad:     "COPY . /captf/module/",
			Good:    "RUN mkdir -p /captf/providers && tofu get && tofu providers mirror -platform=linux_amd64 /captf/providers",
			Rules:   []string{"lint.md 5", "image.md 3"},
		},
		check: func(c *checker) {
			if c.exists(contractimage.ProvidersPath) {
				return
			}
			if len(c.requirements()) == 0 && c.tree != nil {
				c.infof(contractimage.ProvidersPath, "", "the image has no provider mirror; the module requires no provider, so init needs none")
				return
			}
			c.infof(contractimage.ProvidersPath, "add a provider mirror", "the image has no provider mirror, so every run downloads the providers")
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/providers-layout", Severities: isError,
			Summary: "An entry of the mirror is neither packed (`HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`, JSON indexes beside it) nor unpacked (`HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`).",
			Why:     "The runtime does not find the provider, and with a mirror it downloads nothing.",
			Fix:     "Make the mirror with the runtime's `providers mirror`.",
			Bad:     "COPY terraform-provider-cloud_1.2.0_linux_amd64.zip /captf/providers/",
			Good:    "COPY mirror/ /captf/providers/",
			Rules:   []string{"lint.md 5", "image.md 3"},
		},
		check: func(c *checker) {
			if e, err := c.fs.Stat(contractimage.ProvidersPath); err == nil && !e.IsDir() {
				c.errorf(contractimage.ProvidersPath, "make it a directory", "%s is a %s, not a directory", contractimage.ProvidersPath, e.Type)
				return
			}
			strays := c.mirror().Strays
			if len(strays) == 0 {
				return
			}
			shown := strays[:min(len(strays), maxListed)]
			c.errorf(path.Join(contractimage.ProvidersPath, shown[0]), "make the mirror with the runtime's \"providers mirror\"",
				"the mirror has files of neither layout: %s%s", strings.Join(shown, ", "), andMore(len(strays)-len(shown)))
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/providers-complete", Severities: isError,
			Summary: "A link in the mirror is broken, or a provider that the module or a local module requires has no package for the platform, or none in a version that the constraint allows.",
			Why:     "Init fails: with a mirror the runtime downloads nothing.",
			Fix:     "Mirror the provider for every platform of the image.",
			Bad:     "RUN tofu providers mirror -platform=linux_amd64 /captf/providers # in the image for linux/arm64",
			Good:    "RUN tofu providers mirror -platform=linux_${TARGETARCH} /captf/providers",
			Rules:   []string{"lint.md 5", "image.md 3"},
		},
		check: func(c *checker) {
			if !c.exists(contractimage.ProvidersPath) {
				return
			}
			for _, link := range c.brokenLinks() {
				c.errorf(link, "copy the package itself", "the link leads nowhere")
			}
			mirror := c.mirror()
			for _, r := range c.requirements() {
				c.complete(mirror, r)
			}
		},
	},
}

// requirement is a provider that a module requires.
type requirement struct {
	// addresses are those that it may have; more than one when the runtime, whose
	// registry is the default host, is not known.
	addresses []string
	at        *module.RequiredProvider
}

// requirements returns the required providers of the module and the local
// modules that it calls, built-in ones apart.
func (c *checker) requirements() []requirement {
	byPlace := map[string]*requirement{}
	var order []string
	for _, root := range c.views() {
		for _, m := range root.Tree() {
			for _, p := range m.RequiredProviders {
				address := p.Address(m.Runtime)
				if contractimage.Builtin(address) {
					continue
				}
				place := fmt.Sprintf("%s:%d:%s", p.Range.Filename, p.Range.Start.Line, p.Name)
				r, ok := byPlace[place]
				if !ok {
					r = &requirement{at: p}
					byPlace[place] = r
					order = append(order, place)
				}
				if !slices.Contains(r.addresses, address) {
					r.addresses = append(r.addresses, address)
				}
			}
		}
	}
	slices.Sort(order)
	out := make([]requirement, 0, len(order))
	for _, place := range order {
		out = append(out, *byPlace[place])
	}
	return out
}

// complete reports a provider for which the mirror has nothing that fits.
func (c *checker) complete(mirror contractimage.Mirror, r requirement) {
	var versions []string
	for _, address := range r.addresses {
		fits, err := mirror.Find(address, r.at.Version, c.platform)
		if err != nil {
			return // module/provider-pin is about constraints
		}
		if len(fits) > 0 {
			return
		}
		others, err := mirror.Find(address, "", c.platform)
		if err != nil {
			return
		}
		for _, p := range others {
			versions = append(versions, p.Version)
		}
	}
	at := inModule(r.at.Range.Filename)
	name := strings.Join(r.addresses, " or ")
	switch {
	case len(versions) > 0:
		c.errorf(at, "mirror a version that the constraint allows", "the mirror has the provider %s for %s in version %s, and the module requires %s",
			name, c.platform, strings.Join(versions, ", "), r.at.Version)
	default:
		elsewhere := c.elsewhere(mirror, r)
		c.errorf(at, "mirror it for every platform of the image", "the mirror has no package of the provider %s for %s%s", name, c.platform, elsewhere)
	}
	c.findings[len(c.findings)-1].Line = r.at.Range.Start.Line
}

// elsewhere says where a provider that was not found is: under another host, as
// when the mirror was made with the other runtime, or for other platforms.
func (c *checker) elsewhere(mirror contractimage.Mirror, r requirement) string {
	var platforms, hosts []string
	_, tail, _ := strings.Cut(r.addresses[0], "/")
	for _, p := range mirror.Packages {
		host, rest, _ := strings.Cut(p.Provider, "/")
		switch {
		case slices.Contains(r.addresses, p.Provider):
			platforms = append(platforms, p.Platform.String())
		case rest == tail && p.Platform == c.platform:
			hosts = append(hosts, host)
		}
	}
	slices.Sort(platforms)
	switch {
	case len(platforms) > 0:
		return ", only for " + strings.Join(slices.Compact(platforms), ", ")
	case len(hosts) > 0:
		return fmt.Sprintf("; there is one under %s, which is the registry of another runtime", hosts[0])
	}
	return ""
}

// mirror tells what the provider mirror holds. Packages that are links to
// directories count as what they lead to.
func (c *checker) mirror() contractimage.Mirror {
	root, err := c.fs.Stat(contractimage.ProvidersPath)
	if err != nil || !root.IsDir() {
		return contractimage.Mirror{}
	}
	var files []string
	c.walk(contractimage.ProvidersPath, func(e rootfs.Entry) {
		rel := strings.TrimPrefix(strings.TrimPrefix(e.Path, root.Path), "/")
		switch {
		case e.IsDir():
			return
		case e.Type == rootfs.Symlink:
			to, err := c.fs.Stat(e.Path)
			if err != nil {
				return // a broken link is reported as such
			}
			if to.IsDir() {
				rel += "/."
			}
		}
		files = append(files, rel)
	})
	return contractimage.ParseMirror(files)
}

func (c *checker) brokenLinks() []string {
	var out []string
	c.walk(contractimage.ProvidersPath, func(e rootfs.Entry) {
		if e.Type != rootfs.Symlink {
			return
		}
		if _, err := c.fs.Stat(e.Path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, rootfs.ErrLoop) {
			out = append(out, e.Path)
		}
	})
	return out
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
