package module

// Feature is a construct of the language that not every supported version of
// both runtimes knows.
type Feature struct {
	// ID names the construct.
	ID string
	// Construct is how a message calls it.
	Construct string
	// Terraform and OpenTofu are the first versions that know it, such as
	// "1.10.0"; empty when no version does.
	Terraform, OpenTofu string
}

// Since returns the first version of the runtime that knows the construct, or
// an empty string when none does.
func (f *Feature) Since(r Runtime) string {
	if r == OpenTofu {
		return f.OpenTofu
	}
	return f.Terraform
}

// Features lists the constructs that are recognised, by ID. It is a copy.
func Features() []Feature {
	out := make([]Feature, len(features))
	copy(out, features)
	return out
}

// features is sorted by ID. Versions before Terraform 1.0 are written "1.0.0",
// and OpenTofu starts at 1.6.0. The ID is the block and the argument or nested
// block that is new, as [decoder.content] looks it up, or a name that only the
// code that detects it uses.
var features = []Feature{
	{"action", `"action" block`, "1.14.0", ""},
	{"check", `"check" block`, "1.5.0", "1.6.0"},
	{"ephemeral", `"ephemeral" block`, "1.10.0", "1.11.0"},
	{"experiments", `"experiments" argument`, "", "1.6.0"},
	{"import", `"import" block`, "1.5.0", "1.6.0"},
	{"import.for_each", `"for_each" in an import block`, "1.7.0", "1.7.0"},
	{"import.identity", `"identity" in an import block`, "1.12.0", "1.12.0"},
	{"language", `"language" block`, "", "1.12.0"},
	{"language-edition", "language edition other than TF2021", "", "1.6.0"},
	{"lifecycle.action_trigger", `"action_trigger" block`, "1.14.0", ""},
	{"lifecycle.destroy", `"destroy" in a lifecycle block`, "", "1.12.0"},
	{"lifecycle.enabled", `"enabled" in a lifecycle block`, "", "1.11.0"},
	{"lifecycle.postcondition", `"postcondition" block`, "1.2.0", "1.6.0"},
	{"lifecycle.precondition", `"precondition" block`, "1.2.0", "1.6.0"},
	{"lifecycle.replace_triggered_by", `"replace_triggered_by" argument`, "1.2.0", "1.6.0"},
	{"module-source-expression", "module source or version that is not a literal", "1.15.0", "1.8.0"},
	{"module.lifecycle", `"lifecycle" in a module block`, "", "1.11.0"},
	{"moved", `"moved" block`, "1.1.0", "1.6.0"},
	{"optional", "optional object attribute", "1.3.0", "1.6.0"},
	{"output.deprecated", `"deprecated" in an output block`, "1.15.0", "1.10.0"},
	{"output.ephemeral", `"ephemeral" in an output block`, "1.10.0", "1.11.0"},
	{"output.precondition", `"precondition" in an output block`, "1.2.0", "1.6.0"},
	{"output.type", `"type" in an output block`, "1.15.0", ""},
	{"prevent-destroy-expression", `"prevent_destroy" that is not a literal`, "", "1.12.0"},
	{"provider.for_each", `"for_each" in a provider block`, "", "1.9.0"},
	{"removed", `"removed" block`, "1.7.0", "1.7.0"},
	{"removed.connection", `"connection" in a removed block`, "1.9.0", ""},
	{"removed.lifecycle", `"lifecycle" in a removed block`, "1.7.0", "1.10.0"},
	{"removed.provisioner", `"provisioner" in a removed block`, "1.9.0", "1.10.0"},
	{"terraform.cloud", `"cloud" block`, "1.1.0", "1.6.0"},
	{"terraform.encryption", `"encryption" block`, "", "1.7.0"},
	{"validation-reference", "validation that refers to another object", "1.9.0", "1.9.0"},
	{"variable.const", `"const" in a variable block`, "1.15.0", "1.12.0"},
	{"variable.deprecated", `"deprecated" in a variable block`, "1.15.0", "1.10.0"},
	{"variable.ephemeral", `"ephemeral" in a variable block`, "1.10.0", "1.11.0"},
	{"variable.nullable", `"nullable" in a variable block`, "1.1.0", "1.6.0"},
}

var featureByID = func() map[string]*Feature {
	m := make(map[string]*Feature, len(features))
	for i := range features {
		m[features[i].ID] = &features[i]
	}
	return m
}()
