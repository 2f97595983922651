// Package inputs makes a module's inputs out of an object: it finds the object's owners, says what is waited for as long as
// something is missing, collects the user's variables, and renders the files of a run. What is inherited from a
// TerraformCluster is here too, as functions of the objects.
//
// Not in this package: what an input means and how it is rendered and hashed (contract), which credentials
// an object uses and whether it may (provider/internal/credentials), the policy of Jobs (provider/internal/job), and reading the state of a cluster, which
// the caller lends as ClusterOutputs.
package inputs
