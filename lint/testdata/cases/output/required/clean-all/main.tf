output "provider_id" {
  value = local.x
}

output "addresses" {
  value = local.x
}

output "failure_domain" {
  value = local.x
}

output "interruptible" {
  value = local.x
}

locals {
  x = terraform_data.x.id
}

resource "terraform_data" "x" {}
