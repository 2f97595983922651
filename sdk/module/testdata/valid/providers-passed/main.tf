terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
}
module "child" {
  source = "./child"
  providers = {
    terraform.other = terraform
  }
}
