package image

import "github.com/captf-toolkit/captf/lint"

var userRules = []rule{
	{
		Rule: lint.Rule{
			ID: "image/user-root", Severities: isWarning,
			Summary: "The image runs as root.",
			Why:     "The Job does not fit the Pod Security profile \"restricted\": in a namespace that enforces it no pod is made.",
			Fix:     "Set a numeric user that is not root, such as 65532:65532.",
			Bad:     "# no USER",
			Good:    "USER 65532:65532",
			Rules:   []string{"lint.md 5", "image.md 5"},
		},
		check: func(c *checker) {
			if c.user.root() {
				c.warnf("", "set a numeric user that is not root, such as 65532:65532", "the image runs as root (USER is %q)", c.user.name)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/user-unresolved", Severities: isWarning,
			Summary: "The image's user is a name that `/etc/passwd` of the image does not have, or a number that is none of a user.",
			Why:     "Kubernetes cannot tell whether the user is root and refuses the pod; checks of permissions are only approximate.",
			Fix:     "Set a numeric user.",
			Bad:     "USER captf # without an entry in /etc/passwd",
			Good:    "USER 65532:65532",
			Rules:   []string{"lint.md 5"},
		},
		check: func(c *checker) {
			if !c.user.known {
				c.warnf("", "set a numeric user, such as 65532:65532", "the user %q of the image cannot be resolved, so permissions are judged by what everybody may do", c.user.name)
			}
		},
	},
}
