package rules

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

var cpRegistrationWaits = lint.Rule{
	ID:         "cp/registration-waits",
	Severities: warningOrInfo,
	Roles:      onlyMachine,
	Summary:    "The attachment to the load balancer depends on something that waits for the booted node: a `remote-exec` or `file` provisioner, a `local-exec` one that polls, a data source that asks the node, an SSH resource (warning), or a sleep (info).",
	Why:        "The first node needs the endpoint to finish its own start, and the endpoint needs the node as a backend: whoever waits for the node first waits forever, or until the bootstrap gives up.",
	Fix:        "Let the attachment depend on the instance's id or address alone, and wait, if at all, after it.",
	Bad: `resource "aws_instance" "node" {
  ami = "ami-0123"
}

resource "terraform_data" "ready" {
  input = aws_instance.node.id

  provisioner "remote-exec" {
    inline = ["cloud-init status --wait"]
  }
}

resource "aws_lb_target_group_attachment" "api" {
  target_id  = aws_instance.node.id
  depends_on = [terraform_data.ready]
}`,
	Good: `resource "aws_instance" "node" {
  ami = "ami-0123"
}

resource "aws_lb_target_group_attachment" "api" {
  target_id = aws_instance.node.id
}`,
	Rules: []string{"CP-033", "CP-034"},
	Check: func(c *lint.Context) {
		all := scopes(c.Flow.Root())
		d := newDependencies(c, all)
		machines, waiting := map[place]*place{}, map[place]*place{}
		machine := func(p place) bool { return p.res != nil && isMachine(p.res) }
		waits := func(p place) bool {
			if p.res == nil {
				return false
			}
			_, ok := waitOf(c, p.res)
			return ok && (machine(p) || d.nearest(p, machines, machine) != nil)
		}
		for _, s := range all {
			for _, r := range s.Module.Resources {
				if !isAttachment(r) {
					continue
				}
				if p := d.nearest(place{scope: s, res: r}, waiting, waits); p != nil {
					w, _ := waitOf(c, p.res)
					c.Report(lint.Problem{
						Severity: w.severity, At: w.at, Remedy: "let the attachment depend on the instance alone",
						Message: fmt.Sprintf("%s is a member only after %s %s, but the node cannot finish its start before it is one", r.Address(), p.res.Address(), w.what),
					})
				}
			}
		}
	},
}

// wait is how a resource waits for a node.
type wait struct {
	severity lint.Severity
	at       hcl.Range
	what     string
}

// onNode are the resource types that do something on a machine, data sources that
// ask it.
var (
	onNode   = map[string]bool{"ssh_resource": true, "ssh_sensitive_resource": true, "remote_file": true}
	askNodes = map[string]bool{"http": true, "tls_certificate": true}
)

// polling finds commands that wait for something.
var polling = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:until|sleep|kubectl|cloud-init|ssh)\b|--retry\b`)
})

// waitOf tells how a resource that is made after an instance, or is one, waits for its node.
func waitOf(c *lint.Context, r *module.Resource) (wait, bool) {
	switch {
	case r.Mode == module.Data && askNodes[r.Type] && !fixedHost(c, r):
		return wait{lint.SeverityWarning, r.DefRange, "has asked the node"}, true
	case r.Mode != module.Managed:
		return wait{}, false
	case onNode[r.Type]:
		return wait{lint.SeverityWarning, r.DefRange, "has reached the node"}, true
	case r.Type == "time_sleep" && r.Body.Attributes()["create_duration"] != nil:
		return wait{lint.SeverityInfo, r.Body.Attributes()["create_duration"].Range, "has slept"}, true
	}
	i := slices.IndexFunc(r.Provisioners, func(p *module.Provisioner) bool {
		if p.Destroy {
			return false
		}
		command := p.Body.Attributes()["command"]
		return p.Type == "remote-exec" || p.Type == "file" || p.Type == "local-exec" && command != nil && polling().MatchString(sourceText(c, command.Expr.Range()))
	})
	if i < 0 {
		return wait{}, false
	}
	p := r.Provisioners[i]
	return wait{lint.SeverityWarning, p.DefRange, "has run its " + p.Type + " provisioner"}, true
}

// fixedHost tells that a data source asks a host that is written out.
func fixedHost(c *lint.Context, r *module.Resource) bool {
	url := r.Body.Attributes()["url"]
	return url == nil || withHost().MatchString(sourceText(c, url.Expr.Range()))
}

// withHost finds a URL whose host is text.
var withHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"[a-z]+://[^$"]`) })
