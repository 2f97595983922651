package image

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

// maxListed is how many paths a finding lists (lint.md 5).
const maxListed = 5

var layoutRules = []rule{
	{
		Rule: lint.Rule{
			ID: "image/module-present", Severities: isError,
			Summary: "There is no module file at the top level of `/captf/module`.",
			Why:     "The Job stops before any command: there is nothing to run.",
			Fix:     "Copy the module to `/captf/module`.",
			Bad:     "COPY . /module/",
			Good:    "COPY . /captf/module/",
			Rules:   []string{"lint.md 5", "image.md 2"},
		},
		check: func(c *checker) {
			switch e, err := c.fs.Stat(contractimage.ModulePath); {
			case err != nil:
				c.errorf(contractimage.ModulePath, "copy the module to "+contractimage.ModulePath, "the image has no module: %s", why(err))
			case !e.IsDir():
				c.errorf(contractimage.ModulePath, "make it the directory with the module", "%s is a %s, not a directory", contractimage.ModulePath, e.Type)
			case !c.hasModuleFile():
				c.errorf(contractimage.ModulePath, "copy the module's files into it, not its parent directory",
					"%s has no .tf, .tf.json, .tofu or .tofu.json file at its top level", contractimage.ModulePath)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/module-link", Severities: isError,
			Summary: "A symbolic link under `/captf/module` does not end at a regular file inside it.",
			Why:     "The module is copied to a work directory; the link then leads nowhere.",
			Fix:     "Ship the file itself.",
			Bad:     "RUN ln -s /opt/shared/user-data.tftpl /captf/module/user-data.tftpl",
			Good:    "COPY shared/user-data.tftpl /captf/module/user-data.tftpl",
			Rules:   []string{"lint.md 5"},
		},
		check: func(c *checker) {
			c.walk(contractimage.ModulePath, func(e rootfs.Entry) {
				if e.Type != rootfs.Symlink {
					return
				}
				const remedy = "ship the file itself"
				switch to, err := c.fs.Stat(e.Path); {
				case err != nil:
					c.errorf(e.Path, remedy, "the link to %s leads nowhere%s", e.Link, unlessMissing(err))
				case !to.IsRegular():
					c.errorf(e.Path, remedy, "the link ends at %s, a %s", to.Path, to.Type)
				case !contractimage.Within(c.moduleDir(), to.Path):
					c.errorf(e.Path, remedy, "the link ends at %s, outside of the module", to.Path)
				}
			})
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/module-readable", Severities: isWarning,
			Summary: "The image's user, which is numeric and not root, cannot read a file or enter a directory of the module or the mirror.",
			Why:     "The run fails with a permission error, as soon as the file is needed.",
			Fix:     "Give files the mode 0644 and directories 0755, or the user 65532 as owner.",
			Bad:     "COPY --chmod=0600 . /captf/module/",
			Good:    "COPY --chown=65532:65532 . /captf/module/",
			Rules:   []string{"lint.md 5", "image.md 5"},
		},
		check: func(c *checker) {
			if c.user.root() {
				return
			}
			for _, dir := range []string{contractimage.ModulePath, contractimage.ProvidersPath} {
				c.unreadable(dir)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/reserved-paths", Severities: isError,
			Summary: "The image has files at a path that a Job mounts something over: `/captf/work`, `/captf/bin`, `/captf/config` or `/var/run/captf/credentials`.",
			Why:     "The files are hidden while the Job runs, so what needs them fails.",
			Fix:     "Put the files elsewhere.",
			Bad:     "COPY helper /captf/bin/helper",
			Good:    "COPY helper /usr/local/bin/helper",
			Rules:   []string{"lint.md 5", "image.md 2"},
		},
		check: func(c *checker) {
			for _, p := range contractimage.PathsOf(contractimage.Reserved) {
				if found := c.firstFile(p); found != "" {
					c.errorf(found, "put it elsewhere", "%s is hidden by a mount of the Job at %s", found, p)
				}
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/shadowed-paths", Severities: isInfo,
			Summary: "The image has files in `/tmp` or `/captf/plan-key`, over which a Job mounts an empty directory.",
			Why:     "The files are of no use to a run and make the image larger.",
			Fix:     "Remove what the build leaves behind, in the step that makes it.",
			Bad:     "RUN curl -o /tmp/tool.tar.gz ... && tar -C /usr/local/bin -xf /tmp/tool.tar.gz",
			Good:    "RUN curl -o /tmp/tool.tar.gz ... && tar -C /usr/local/bin -xf /tmp/tool.tar.gz && rm /tmp/tool.tar.gz",
			Rules:   []string{"lint.md 8 G12", "image.md 2"},
		},
		check: func(c *checker) {
			for _, p := range contractimage.PathsOf(contractimage.Shadowed) {
				if found := c.firstFile(p); found != "" {
					c.infof(found, "remove it in the step of the build that makes it", "%s is hidden by a mount of the Job at %s", found, p)
				}
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/module-clutter", Severities: warningOrInfo,
			Summary: "The module directory has something that should not ship: state or credentials, by name or by content (warning), caches, lock files, tests or version control (info).",
			Why:     "State and credentials are secrets that everybody who can pull the image can read. The rest makes the image larger and its digest change for no reason.",
			Fix:     "List it in `.dockerignore`, or build with `captf image build`, which leaves it out.",
			Bad:     "# no .dockerignore\nCOPY . /captf/module/",
			Good:    "# .dockerignore: .terraform, *.tfstate*, .terraform.lock.hcl, tests, .git\nCOPY . /captf/module/",
			Rules:   []string{"lint.md 8 G13", "image.md 7"},
		},
		check: func(c *checker) { c.clutter() },
	},
	{
		Rule: lint.Rule{
			ID: "image/layer-entry", Severities: errorWarningOrInfo,
			Summary: "A layer has an entry that leads out of the image, links to nothing, is of an unknown type, or is a device or pipe in the module (error), that container runtimes take in different ways (warning), or that is there twice (info).",
			Why:     "Container runtimes refuse such a layer, or unpack it in different ways.",
			Fix:     "Build the image with a tool that writes plain layers.",
			Bad:     "# a tar archive with the entry ../../etc/passwd",
			Good:    "COPY . /captf/module/",
			Rules:   []string{"image.md 2"},
		},
		check: func(c *checker) {
			for _, dir := range []string{contractimage.ModulePath, contractimage.ProvidersPath} {
				c.walk(dir, func(e rootfs.Entry) {
					if !e.IsDir() && !e.IsRegular() && e.Type != rootfs.Symlink {
						c.errorf(e.Path, "remove it", "%s is a %s, which no module and no mirror has", e.Path, e.Type)
					}
				})
			}
			for _, p := range c.fs.Problems() {
				severity, ok := problemSeverities[p.Kind]
				if !ok {
					severity = lint.SeverityWarning
				}
				layer := c.img.Layers()[p.Layer]
				c.report(severity, absolute(p.Path), "build the image again with a tool that writes plain layers", "%s: %s", layer.Name(), p.Message)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/entrypoint", Severities: isInfo,
			Summary: "`ENTRYPOINT` or `CMD` is set.",
			Why:     "A Job replaces both; they serve only people who run the image by hand.",
			Fix:     "Nothing, unless the image relies on it.",
			Bad:     "ENTRYPOINT [\"/prepare.sh\"]",
			Good:    "# neither ENTRYPOINT nor CMD",
			Rules:   []string{"lint.md 5"},
		},
		check: func(c *checker) {
			config := c.img.Config.Config
			if len(config.Entrypoint) > 0 || len(config.Cmd) > 0 {
				c.infof("", "", "the image sets ENTRYPOINT or CMD, which a Job replaces")
			}
		},
	},
}

// problemSeverities are those of the problems in layers; other kinds are
// warnings, for runtimes take them in different ways.
var problemSeverities = map[rootfs.ProblemKind]lint.Severity{
	rootfs.ProblemName:      lint.SeverityError,
	rootfs.ProblemHardLink:  lint.SeverityError,
	rootfs.ProblemType:      lint.SeverityError,
	rootfs.ProblemDiffID:    lint.SeverityError,
	rootfs.ProblemDuplicate: lint.SeverityInfo,
	rootfs.ProblemDotDot:    lint.SeverityInfo,
	rootfs.ProblemWhiteout:  lint.SeverityInfo,
}

// absolute returns a path of the image, "" for what is none.
func absolute(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return ""
}

// why says in short what is wrong with a path.
func why(err error) string {
	var pe *fs.PathError
	switch {
	case !errors.As(err, &pe):
		return err.Error()
	case errors.Is(pe.Err, rootfs.ErrNotDir), errors.Is(pe.Err, rootfs.ErrLoop):
		msg, _, _ := strings.Cut(pe.Err.Error(), ":")
		return pe.Path + ": " + msg
	case errors.Is(pe.Err, fs.ErrNotExist):
		return pe.Path + " does not exist"
	}
	return pe.Path + ": " + pe.Err.Error()
}

// unlessMissing says why a link leads nowhere, if there is more to say than that.
func unlessMissing(err error) string {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, rootfs.ErrNotDir) {
		return ""
	}
	return ": " + why(err)
}

// moduleDir is where the module directory is, its links followed.
func (c *checker) moduleDir() string {
	e, err := c.fs.Stat(contractimage.ModulePath)
	if err != nil {
		return contractimage.ModulePath
	}
	return e.Path
}

func (c *checker) hasModuleFile() bool {
	entries, err := c.fs.ReadDir(contractimage.ModulePath)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if to, err := c.fs.Stat(e.Path); err == nil && to.IsRegular() && module.ModuleFile(e.Name()) && !module.Ignored(e.Name()) {
			return true
		}
	}
	return false
}

// unreadable reports what the user cannot read in a directory.
func (c *checker) unreadable(dir string) {
	var bad []string
	// Whoever may not enter a directory above reads nothing in it.
	for p := path.Dir(dir); p != "/"; p = path.Dir(p) {
		if e, err := c.fs.Stat(p); err == nil && !c.user.may(e, canExecute) {
			bad = append(bad, p)
		}
	}
	more := 0
	c.walk(dir, func(e rootfs.Entry) {
		switch {
		case e.IsDir() && c.user.may(e, canExecute) && c.user.may(e, canRead):
			return
		case e.IsRegular() && c.user.may(e, canRead):
			return
		case !e.IsDir() && !e.IsRegular():
			return // links have no mode of their own, the rest is no module
		}
		if len(bad) == maxListed {
			more++
			return
		}
		bad = append(bad, e.Path)
	})
	if len(bad) > 0 {
		c.warnf(bad[0], "give files the mode 0644 and directories 0755, or make the user their owner",
			"the user %s cannot read %s%s", c.user, strings.Join(bad, ", "), andMore(more))
	}
}

// firstFile returns the first thing at a path or below it that is no directory,
// "" when there is none.
func (c *checker) firstFile(p string) string {
	e, err := c.fs.Lstat(p)
	if err != nil {
		return ""
	}
	if !e.IsDir() {
		return p
	}
	found := ""
	c.walk(p, func(e rootfs.Entry) {
		if found == "" && !e.IsDir() {
			found = e.Path
		}
	})
	return found
}

// clutter reports what should not be in the module directory.
func (c *checker) clutter() {
	dir := c.moduleDir()
	err := c.fs.Walk(contractimage.ModulePath, func(e rootfs.Entry) error {
		if e.Path == dir {
			return nil
		}
		const remedy = "leave it out of the image, for example by .dockerignore"
		r, ok := contractimage.FindClutter(e.Name(), e.IsDir())
		if !ok || r.Kind.Harmless() || r.Content != "" {
			head := c.head(e)
			kind, secret := contractimage.FindSecret(head)
			if ok && r.Content != "" && r.Holds(head) {
				kind, secret = r.Kind, true
			}
			if secret {
				c.warnf(e.Path, remedy, "%s should not ship: by its content it is a %s", e.Name(), kind)
			}
			return nil
		}
		severity := lint.SeverityInfo
		if r.Kind == contractimage.ClutterState || r.Kind == contractimage.ClutterCredential {
			severity = lint.SeverityWarning
		}
		c.report(severity, e.Path, remedy, "%s should not ship: %s", e.Name(), r.Kind)
		if e.IsDir() {
			return rootfs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.fail(err)
	}
}

// head returns the beginning of a regular file, nothing of anything else.
func (c *checker) head(e rootfs.Entry) []byte {
	if !e.IsRegular() || e.Size == 0 {
		return nil
	}
	f, err := c.fs.OpenReaderAt(c.ctx, e.Path)
	if err != nil {
		if c.ctx.Err() != nil {
			c.fail(err)
		}
		return nil
	}
	defer f.Close()
	head := make([]byte, min(f.Size(), contractimage.ClutterHead))
	n, _ := f.ReadAt(head, 0)
	return head[:n]
}
