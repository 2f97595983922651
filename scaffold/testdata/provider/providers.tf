# Settings such as the region belong here, taken from user variables. Credentials do
# not: they come from the object's identity as environment variables and files.
provider "aws" {
  # REPLACE: settings of the provider.
}
