# Credentials come from the environment that the identity of the object sets.
provider "aws" {
  region = var.region
}
