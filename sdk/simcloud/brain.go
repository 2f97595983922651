package simcloud

// brain is what the cloud knows of one provider.
type brain struct {
	persona Persona
	schema  *Schema
}
