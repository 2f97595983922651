// Package simcloud simulates clouds for OpenTofu and Terraform: provider servers
// in this process, with the real providers' schemas, that create nothing but
// entries in a [Cloud] held in memory (design D9).
//
// [Start] serves one or several providers; [Server.ReattachConfig] is the value
// of TF_REATTACH_PROVIDERS with which a runtime uses them, and then installs
// and calls nothing. What a schema says is true for every resource type:
// arguments and their types, what is required, what is computed, blocks and how
// many of them, write-only arguments. What it does not say is a table, a
// [Persona]: which change replaces an object, the form of ids and addresses,
// which names are unique, what a group makes. A type without a [TypeRule] gets
// generic values of the right type and plausible form.
//
// The same configuration gives the same values, on either runtime and in every
// run: they are made from a hash of what is asked for and of how often it was
// asked for before, never from a clock or chance.
//
// Not in this package: the tables of the clouds (sdk/simcloud/persona), the
// recorded schemas (sdk/simcloud/schemas), anything of Cluster API or of the
// harness, and the checks that providers make beyond their schemas (validators,
// conflicts between arguments).
package simcloud
