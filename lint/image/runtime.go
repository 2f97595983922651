package image

import (
	"fmt"
	"path"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/zclconf/go-cty/cty"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var runtimeRules = []rule{
	{
		Rule: lint.Rule{
			ID: "image/runtime-present", Severities: isError,
			Summary: "`/captf/runtime` is missing, no regular file (a symbolic link inside the image is followed), not executable by the image's user, or built for another platform.",
			Why:     "The Job stops before any command.",
			Fix:     "Install the runtime, and make `/captf/runtime` it or a link to it.",
			Bad:     "RUN ln -s tofu /captf/runtime",
			Good:    "RUN ln -s /usr/local/bin/tofu /captf/runtime",
			Rules:   []string{"lint.md 5", "image.md 2"},
		},
		check: func(c *checker) {
			const at = contractimage.RuntimePath
			e, err := c.fs.Stat(at)
			if err != nil {
				if link, linkErr := c.fs.ReadLink(at); linkErr == nil {
					c.errorf(at, "link to the runtime in the image by its absolute path", "%s is a link to %s, which leads nowhere%s", at, link, unlessMissing(err))
					return
				}
				c.errorf(at, "install the runtime there, or link to it", "the image has no runtime: %s", why(err))
				return
			}
			switch {
			case !e.IsRegular():
				c.errorf(at, "make it the runtime's binary, or a link to it", "%s is a %s, not the runtime's binary", e.Path, e.Type)
			case !c.user.may(e, canExecute):
				c.errorf(at, "give it the mode 0755", "the user %s cannot execute %s (mode %04o)", c.user, e.Path, e.Mode&0o7777)
			case c.script != nil && c.script.interpreter == "":
				c.errorf(at, "put the runtime's binary there", "%s is neither a program for Linux nor a script", e.Path)
			case c.script != nil && !c.runnable(c.script.interpreter):
				c.errorf(at, "use the runtime's binary, or a base image with "+c.script.interpreter,
					"%s is a script for %s, which the image does not have or its user cannot execute", e.Path, c.script.interpreter)
			case c.program.Platform.OS != "" && c.program.Platform != c.platform:
				c.errorf(at, "put the binary for "+c.platform.String()+" into the image", "%s is built for %s, and the image is for %s", e.Path, c.program.Platform, c.platform)
			case c.program.Interpreter != "" && !c.exists(c.program.Interpreter):
				c.errorf(at, "use a static binary, or a base image with that loader",
					"%s needs the loader %s, which the image does not have", e.Path, c.program.Interpreter)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/runtime-version", Severities: isWarning,
			Summary: "The runtime, by its file name or by what its build recorded, is another one or another version than the labels `io.captf.runtime` and `io.captf.runtime.version` say.",
			Why:     "People and tools choose by the label and get something else.",
			Fix:     "Correct the label, or the binary.",
			Bad:     "LABEL io.captf.runtime=\"terraform\"\nRUN ln -s /usr/local/bin/tofu /captf/runtime",
			Good:    "LABEL io.captf.runtime=\"tofu\"\nRUN ln -s /usr/local/bin/tofu /captf/runtime",
			Rules:   []string{"lint.md 5", "lint.md 8 G15"},
		},
		check: func(c *checker) {
			if c.runtime == nil {
				return
			}
			label, _ := c.label(contractimage.LabelRuntime)
			kind, how := c.program.Runtime, "by the record of its build"
			if kind == "" {
				kind, how = contractimage.RuntimeOfFile(c.runtime.Path), "by its name"
			}
			if label != "" && kind != "" && label != string(kind) {
				c.warnf(c.runtime.Path, "correct the label or the binary", "the label %s says %q, but %s is %s %s",
					contractimage.LabelRuntime, label, c.runtime.Path, kind, how)
			}
			labelled, _ := c.label(contractimage.LabelRuntimeVersion)
			if have := c.program.Version; labelled != "" && have != "" && strings.TrimPrefix(labelled, "v") != have {
				c.warnf(c.runtime.Path, "correct the label or the binary", "the label %s says %q, but %s is version %s",
					contractimage.LabelRuntimeVersion, labelled, c.runtime.Path, have)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/runtime-required-version", Severities: isError,
			Summary: "The version of the runtime does not meet the module's `required_version`.",
			Why:     "Every run fails at init.",
			Fix:     "Change the constraint, or ship a runtime that meets it.",
			Bad:     "# with OpenTofu 1.12.6 in the image\nterraform {\n  required_version = \">= 1.13.0\"\n}",
			Good:    "# with OpenTofu 1.12.6 in the image\nterraform {\n  required_version = \">= 1.6.0\"\n}",
			Rules:   []string{"lint.md 8 G15"},
		},
		check: func(c *checker) {
			have, from := c.program.Version, "its build"
			if have == "" {
				have, _ = c.label(contractimage.LabelRuntimeVersion)
				from = "the label " + string(contractimage.LabelRuntimeVersion)
			}
			v, err := version.NewSemver(strings.TrimPrefix(have, "v"))
			kind := c.runtimeKind()
			if err != nil || kind == "" || c.tree == nil {
				return
			}
			root := c.tree.View(moduleView(kind))
			if root == nil {
				return
			}
			for _, m := range root.Tree() {
				for _, want := range m.Versions {
					// A pre-release counts as the release that it leads to, as for the runtimes themselves.
					if want.Effective && !want.Constraints.Check(v) && !want.Constraints.Check(v.Core()) {
						c.errorf(inModule(want.Range.Filename), "change the constraint, or ship a runtime that meets it",
							"the module needs %s %s, and the runtime is %s, as %s says", kind, want.Raw, have, from)
						c.findings[len(c.findings)-1].Line = want.Range.Start.Line
					}
				}
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/local-exec-shell", Severities: isError,
			Summary: "The module has a `local-exec` provisioner, and the image lacks the program that runs it: `/bin/sh`, or what `interpreter` names.",
			Why:     "The apply fails when it comes to the provisioner, after resources were made.",
			Fix:     "Use a base image with a shell, or do without the provisioner.",
			Bad:     "# in an image without a shell\nprovisioner \"local-exec\" {\n  command = \"notify.sh\"\n}",
			Good:    "# no provisioner, or an image with /bin/sh",
			Rules:   []string{"lint.md 8 G19"},
		},
		check: func(c *checker) { c.localExec() },
	},
}

// localExec looks for the programs that local-exec provisioners need.
func (c *checker) localExec() {
	reported := map[string]bool{}
	for _, root := range c.views() {
		for _, m := range root.Tree() {
			for _, r := range m.Resources {
				for _, p := range r.Provisioners {
					if p.Type != "local-exec" {
						continue
					}
					program, known := interpreter(p)
					if !known || c.runnable(program) {
						continue
					}
					place := fmt.Sprintf("%s:%d", p.DefRange.Filename, p.DefRange.Start.Line)
					if reported[place] {
						continue
					}
					reported[place] = true
					c.errorf(inModule(p.DefRange.Filename), "use a base image that has "+program+", or do without the provisioner",
						"the local-exec provisioner of %s needs %s, which the image does not have or its user cannot execute", r.Address(), program)
					c.findings[len(c.findings)-1].Line = p.DefRange.Start.Line
				}
			}
		}
	}
}

// interpreter returns the program that runs a provisioner's command; not known
// when an expression decides.
func interpreter(p *module.Provisioner) (program string, known bool) {
	const shell = "/bin/sh"
	a, ok := p.Body.Attributes()["interpreter"]
	if !ok {
		return shell, true
	}
	v, diags := a.Expr.Value(nil)
	switch {
	case diags.HasErrors() || !v.IsWhollyKnown():
		return "", false
	case v.IsNull() || !v.CanIterateElements() || v.LengthInt() == 0:
		return shell, true
	}
	it := v.ElementIterator()
	it.Next()
	if _, first := it.Element(); first.Type() == cty.String && !first.IsNull() {
		return first.AsString(), true
	}
	return "", false
}

// defaultPath is where programs are looked for when the image sets no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// runnable tells whether the image's user can execute a program of the image.
func (c *checker) runnable(program string) bool {
	candidates := []string{program}
	if !strings.Contains(program, "/") {
		candidates = nil
		for dir := range strings.SplitSeq(c.path(), ":") {
			candidates = append(candidates, path.Join("/", dir, program))
		}
	} else if !path.IsAbs(program) {
		return true // relative to the module: not judged
	}
	for _, p := range candidates {
		if e, err := c.fs.Stat(p); err == nil && e.IsRegular() && c.user.may(e, canExecute) {
			return true
		}
	}
	return false
}

func (c *checker) path() string {
	for _, env := range c.img.Config.Config.Env {
		if value, ok := strings.CutPrefix(env, "PATH="); ok {
			return value
		}
	}
	return defaultPath
}
