package module

import "github.com/hashicorp/hcl/v2"

// The schemas accept what any supported version of either runtime accepts. What
// only one of them knows is listed in features.

func schema(attrs []hcl.AttributeSchema, blocks ...hcl.BlockHeaderSchema) *hcl.BodySchema {
	return &hcl.BodySchema{Attributes: attrs, Blocks: blocks}
}

// args makes optional arguments; a name that ends in "!" is required.
func args(names ...string) []hcl.AttributeSchema {
	out := make([]hcl.AttributeSchema, len(names))
	for i, n := range names {
		if last := len(n) - 1; n[last] == '!' {
			out[i] = hcl.AttributeSchema{Name: n[:last], Required: true}
			continue
		}
		out[i] = hcl.AttributeSchema{Name: n}
	}
	return out
}

func block(typ string, labels ...string) hcl.BlockHeaderSchema {
	return hcl.BlockHeaderSchema{Type: typ, LabelNames: labels}
}

var (
	fileSchema = schema(nil,
		block("terraform"),
		block("language"),
		block("required_providers"), // only to say that it belongs into terraform
		block("variable", "name"),
		block("locals"),
		block("output", "name"),
		block("module", "name"),
		block("provider", "name"),
		block("resource", "type", "name"),
		block("data", "type", "name"),
		block("ephemeral", "type", "name"),
		block("action", "type", "name"),
		block("check", "name"),
		block("moved"),
		block("removed"),
		block("import"),
	)
	terraformSchema = schema(args("required_version", "experiments", "language"),
		block("backend", "type"),
		block("cloud"),
		block("required_providers"),
		block("provider_meta", "provider"),
		block("encryption"),
	)
	languageSchema       = schema(args("edition", "experiments"), block("compatible_with"))
	compatibleWithSchema = schema(args("opentofu"))

	variableSchema = schema(
		args("description", "type", "default", "sensitive", "nullable", "ephemeral", "deprecated", "const"),
		block("validation"))
	outputSchema = schema(
		args("value!", "description", "sensitive", "ephemeral", "deprecated", "type", "depends_on"),
		block("precondition"), block("postcondition"))
	conditionSchema = schema(args("condition!", "error_message!"))

	moduleSchema = schema(
		args("source!", "version", "count", "for_each", "depends_on", "providers"),
		block("lifecycle"), block("_"), block("locals"), block("provider", "type"))
	moduleLifecycleSchema = schema(args("enabled"))

	providerSchema = schema(
		args("alias", "version", "for_each", "count", "depends_on", "source"),
		block("_"), block("lifecycle"), block("locals"))

	resourceArgs   = args("count", "for_each", "provider", "depends_on")
	resourceSchema = schema(resourceArgs,
		block("lifecycle"), block("connection"), block("provisioner", "type"), block("_"), block("locals"))
	dataSchema      = schema(resourceArgs, block("lifecycle"), block("_"), block("locals"))
	lifecycleSchema = schema(
		args("create_before_destroy", "prevent_destroy", "destroy", "ignore_changes", "replace_triggered_by", "enabled"),
		block("precondition"), block("postcondition"), block("action_trigger"))
	provisionerSchema = schema(args("when", "on_failure"),
		block("connection"), block("_"), block("lifecycle"))

	checkSchema            = schema(nil, block("data", "type", "name"), block("assert"))
	movedSchema            = schema(args("from!", "to!"))
	importSchema           = schema(args("to!", "id", "identity", "for_each", "provider"))
	removedSchema          = schema(args("from!"), block("lifecycle"), block("connection"), block("provisioner", "type"))
	removedLifecycleSchema = schema(args("destroy"))
)

// overrideOf returns the schema for override files, where nothing is required.
func overrideOf(s *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Attributes: make([]hcl.AttributeSchema, len(s.Attributes)), Blocks: s.Blocks}
	for i, a := range s.Attributes {
		out.Attributes[i] = hcl.AttributeSchema{Name: a.Name}
	}
	return out
}

var (
	outputOverrideSchema = overrideOf(outputSchema)
	moduleOverrideSchema = overrideOf(moduleSchema)
)

// fixedNames lists what a schema gives a meaning to.
func fixedNames(s *hcl.BodySchema) map[string]bool {
	m := make(map[string]bool, len(s.Attributes)+len(s.Blocks))
	for _, a := range s.Attributes {
		m[a.Name] = true
	}
	for _, b := range s.Blocks {
		m[b.Type] = true
	}
	return m
}

var (
	resourceFixed    = fixedNames(resourceSchema)
	dataFixed        = fixedNames(dataSchema)
	providerFixed    = fixedNames(providerSchema)
	moduleFixed      = fixedNames(moduleSchema)
	provisionerFixed = fixedNames(provisionerSchema)
	checkFixed       = fixedNames(checkSchema)
)
