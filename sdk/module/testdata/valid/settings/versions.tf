terraform {
  required_version = ">= 1.5, < 9.0"
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
}
