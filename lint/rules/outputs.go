package rules

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
)

var outputRequired = lint.Rule{
	ID:         "output/required",
	Severities: isError,
	Summary:    "A contract output of the role is not declared. `health` and `provider_id_list` have checks of their own.",
	Why:        "The generated root reads every output of the role; one that is missing fails `validate`, and the object is never provisioned.",
	Fix:        "Declare the output. Null says that a value is not known yet, or that there is none.",
	Bad:        `# no output "provider_id"`,
	Good: `output "provider_id" {
  value = "noop://${terraform_data.instance.id}"
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R3"},
	Check: func(c *lint.Context) {
		if !c.Tree.Complete(c.Root) {
			return // module/source-escape says so; the file may declare them
		}
		for _, out := range c.Spec.Outputs {
			if out.Name != outHealth && out.Name != outProviderIDs && c.Root.Output(out.Name) == nil {
				c.Errorf(hcl.Range{}, declareOutput(out), "the contract output %q is not declared", out.Name)
			}
		}
	},
}

func declareOutput(out contract.Output) string {
	return "add output \"" + out.Name + "\": " + firstSentence(out.Doc)
}

// firstSentence returns the first sentence of a text, without its period.
func firstSentence(text string) string {
	s, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(s, ".")
}

var outputHealth = lint.Rule{
	ID:         "output/health",
	Severities: isError,
	Summary:    "`health` is not declared.",
	Why:        "The generated root reads it; without it the module fails `validate`.",
	Fix:        "Declare it. A module that cannot observe health reports `running` and true, or `unknown`.",
	Bad:        `# no output "health"`,
	Good: `output "health" {
  value = {
    state   = "running"
    healthy = true
    message = null
    reasons = []
  }
}`,
	Rules: []string{"lint.md 4", "contract.md 8"},
	Check: func(c *lint.Context) {
		if out, ok := c.Spec.Output(outHealth); ok && c.Root.Output(out.Name) == nil && c.Tree.Complete(c.Root) {
			c.Errorf(hcl.Range{}, `add output "health" with the attributes state and healthy`, "the contract output %q is not declared", out.Name)
		}
	},
}

var outputReserved = lint.Rule{
	ID:         "output/reserved",
	Severities: isWarning,
	Summary:    "An output name starts with `captf_`.",
	Why:        "The prefix belongs to the contract; a later version may give the name a meaning.",
	Fix:        "Rename the output.",
	Bad: `output "captf_instance" {
  value = terraform_data.instance.id
}`,
	Good: `output "instance" {
  value = terraform_data.instance.id
}`,
	Rules: []string{"lint.md 4", "contract.md 3 R4"},
	Check: func(c *lint.Context) {
		for _, o := range c.Root.Outputs {
			if _, ok := c.Spec.Output(o.Name); !ok && strings.HasPrefix(o.Name, contract.ReservedPrefix) {
				c.Warnf(o.DefRange, "rename the output", "the output name %q is reserved", o.Name)
			}
		}
	},
}

var outputEndpointNeverSet = lint.Rule{
	ID:         "output/endpoint-never-set",
	Severities: isWarning,
	Roles:      onlyCluster,
	Summary:    "`control_plane_endpoint` can only be null.",
	Why:        "Unless the user gives an endpoint, no control-plane provider creates a Machine without one, so the cluster waits forever.",
	Fix:        "Output the endpoint that the module creates.",
	Bad: `output "control_plane_endpoint" {
  value = null
}`,
	Good: `output "control_plane_endpoint" {
  value = var.control_plane_endpoint != null ? var.control_plane_endpoint : {
    host = terraform_data.load_balancer.output.address
    port = 6443
  }
}`,
	Rules: []string{"lint.md 4", "lint.md 9 L6", "CP-001"},
	Check: func(c *lint.Context) {
		if o := c.Root.Output(outEndpoint); o != nil && c.Flow.Output(o).AlwaysNull() {
			c.Warnf(o.RangeOf("value"), "output the endpoint that the module creates",
				"%s can only be null, so a cluster whose user gives no endpoint waits forever", outEndpoint)
		}
	},
}
