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
