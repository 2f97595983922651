terraform {
  required_providers {
    terraform = {
      source                = "terraform.io/builtin/terraform"
      configuration_aliases = [terraform.other]
    }
  }
}
output "x" {
  value = 1
}
