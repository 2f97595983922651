# The region is the cluster's. Credentials come from the environment that the identity of
# the object sets.
provider "aws" {
  region = local.exports.region
}
