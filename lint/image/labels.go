package image

import (
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/schema"
)

// sizeVariables are names of variables that choose how large a machine is
// (lint.md 5).
var sizeVariables = []string{
	"instance_type", "vm_size", "machine_type", "shape", "flavor", "flavor_name", "ocpus", "memory_gib", "memory_in_gbs",
}

var labelRules = []rule{
	{
		Rule: lint.Rule{
			ID: "image/label-role", Severities: errorOrInfo,
			Summary: "The label `io.captf.role` names another role than `--role` (error), or is not set (info).",
			Why:     "The image is most likely used for the wrong kind of object.",
			Fix:     "Set the label to the role of the module.",
			Bad:     "LABEL io.captf.role=\"cluster\" # checked with --role machine",
			Good:    "LABEL io.captf.role=\"machine\"",
			Rules:   []string{"lint.md 5"},
		},
		check: func(c *checker) {
			switch value, ok := c.label(contractimage.LabelRole); {
			case !ok:
				c.infof("", "set it", "the label %s is not set", contractimage.LabelRole)
			case value != string(c.role):
				c.errorf("", "correct the label, or check the image for the role that it has",
					"the label %s says %q, and the image is checked for the role %s", contractimage.LabelRole, value, c.role)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/label-contract", Severities: warningOrInfo,
			Summary: "The label `io.captf.contract` names another version than `--contract` (warning), or is not set (info).",
			Why:     "The module was written to another version than it is checked against.",
			Fix:     "Set the label to the version of the contract.",
			Bad:     "LABEL io.captf.contract=\"v1\"",
			Good:    "LABEL io.captf.contract=\"v1alpha1\"",
			Rules:   []string{"lint.md 5"},
		},
		check: func(c *checker) {
			switch value, ok := c.label(contractimage.LabelContract); {
			case !ok:
				c.infof("", "set it", "the label %s is not set", contractimage.LabelContract)
			case value != c.contract.Version():
				c.warnf("", "correct the label, or check the image against the version that it has",
					"the label %s says %q, and the image is checked against %s", contractimage.LabelContract, value, c.contract.Version())
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/label-capacity", Severities: errorOrInfo,
			Summary: "The label `io.captf.capacity` or `io.captf.node-info` of a machine cannot be parsed (error), `io.captf.capacity` is absent (info), or the image is for another role (info).",
			Why:     "Without the labels the cluster autoscaler cannot scale a group from zero machines.",
			Fix:     "Write quantities as strings; remove the labels from images of other roles.",
			Bad:     "LABEL io.captf.capacity='{\"cpu\": 4}'",
			Good:    "LABEL io.captf.capacity='{\"cpu\":\"4\",\"memory\":\"16Gi\"}'",
			Rules:   []string{"lint.md 5", "lint.md 5.2", "image.md 4"},
		},
		check: func(c *checker) {
			for _, key := range []contractimage.Key{contractimage.LabelCapacity, contractimage.LabelNodeInfo} {
				l, _ := contractimage.FindLabel(key)
				value, ok := c.label(key)
				switch {
				case !ok && key == contractimage.LabelCapacity && l.For(c.role):
					c.infof("", "set it, or spec.capacity on the template", "the label %s is not set, so groups of these machines cannot scale from zero", key)
				case ok && !l.For(c.role):
					c.infof("", "remove it", "the label %s has no effect on a %s image", key, c.role)
				case ok:
					c.violations(l.Check(value))
				}
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/capacity-size-variable", Severities: isWarning, Roles: onlyMachine,
			Summary: "The label `io.captf.capacity` is set, and the module has a variable that chooses the size of the machine: " + strings.Join(sizeVariables, ", ") + ".",
			Why:     "The label is one size, and the variable makes machines of another.",
			Fix:     "Drop the label and set `spec.capacity` on each template.",
			Bad:     "LABEL io.captf.capacity='{\"cpu\":\"4\"}' # and variable \"instance_type\" in the module",
			Good:    "# no label; spec.capacity on the template",
			Rules:   []string{"lint.md 5", "image.md 4"},
		},
		check: func(c *checker) {
			if _, ok := c.label(contractimage.LabelCapacity); !ok || c.tree == nil {
				return
			}
			for _, v := range c.tree.Primary.Variables {
				if slices.Contains(sizeVariables, v.Name) {
					c.warnf(inModule(v.DefRange.Filename), "drop the label and set spec.capacity on each template",
						"the label %s is set, and the variable %q chooses the size", contractimage.LabelCapacity, v.Name)
					c.findings[len(c.findings)-1].Line = v.DefRange.Start.Line
				}
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/label-variables-schema", Severities: isError,
			Summary: "The label `io.captf.variables-schema` is no schema of the supported subset, or has more than 32768 bytes.",
			Why:     "Controllers ignore the label, so mistakes in variables are found only when a Job fails.",
			Fix:     "Generate it with `tfcapi-lint schema`.",
			Bad:     "LABEL io.captf.variables-schema='{\"type\":\"object\",\"minProperties\":1}'",
			Good:    "podman build --label io.captf.variables-schema=\"$(tfcapi-lint schema --role machine .)\" .",
			Rules:   []string{"lint.md 5", "lint.md 6"},
		},
		check: func(c *checker) {
			if value, ok := c.label(contractimage.LabelVariablesSchema); ok {
				_, vs := contractimage.ParseSchema(value)
				c.violations(vs)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: "image/schema-drift", Severities: isWarning,
			Summary: "The label `io.captf.variables-schema` is not the schema of the module in the image.",
			Why:     "Variables that the module takes are refused, or ones that it does not take are passed on.",
			Fix:     "Generate the label from the module that ships.",
			Bad:     "# the label was made before the variable \"disk_gib\" was added",
			Good:    "podman build --label io.captf.variables-schema=\"$(tfcapi-lint schema --role machine .)\" .",
			Rules:   []string{"lint.md 8 G14", "lint.md 7"},
		},
		check: func(c *checker) {
			value, ok := c.label(contractimage.LabelVariablesSchema)
			if !ok || c.tree == nil {
				return
			}
			labelled, vs := contractimage.ParseSchema(value)
			if len(vs) > 0 {
				return // image/label-variables-schema says so
			}
			b, err := schema.Of(c.tree.Primary, c.contract.Spec(c.role))
			if err != nil {
				c.fail(err)
				return
			}
			generated, vs := contractimage.ParseSchema(string(b))
			if len(vs) > 0 || equalSchemas(labelled, generated) {
				return
			}
			c.warnf("", "generate the label from the module that ships",
				"the label %s is not the schema of the module: %s", contractimage.LabelVariablesSchema, differences(labelled, generated))
		},
	},
}

func (c *checker) violations(vs contract.Violations) {
	for _, v := range vs {
		key, place, _ := strings.Cut(strings.TrimPrefix(v.Path, "labels["), "]")
		if place = strings.TrimPrefix(place, "."); place != "" {
			key += " is wrong at " + place + ": it"
		}
		c.errorf("", "", "the label %s %s", key, v.Message)
	}
}

func equalSchemas(a, b *contractimage.Schema) bool {
	la, errA := a.Label()
	lb, errB := b.Label()
	return errA == nil && errB == nil && la == lb
}

// differences says in which variables two schemas differ.
func differences(label, module *contractimage.Schema) string {
	var parts []string
	add := func(what string, names []string) {
		slices.Sort(names)
		if len(names) > 0 {
			shown := names[:min(len(names), maxListed)]
			parts = append(parts, what+" "+strings.Join(shown, ", ")+andMore(len(names)-len(shown)))
		}
	}
	var missing, extra, changed []string
	for name, p := range module.Properties {
		switch other, ok := label.Properties[name]; {
		case !ok:
			missing = append(missing, name)
		case !equalSchemas(other, p) || slices.Contains(label.Required, name) != slices.Contains(module.Required, name):
			changed = append(changed, name)
		}
	}
	for name := range label.Properties {
		if _, ok := module.Properties[name]; !ok {
			extra = append(extra, name)
		}
	}
	add("it lacks", missing)
	add("the module has no", extra)
	add("there are differences in", changed)
	if len(parts) == 0 {
		return "it lets other variables pass"
	}
	return strings.Join(parts, "; ")
}
