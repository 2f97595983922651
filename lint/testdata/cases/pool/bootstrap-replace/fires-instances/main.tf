locals {
  digest = nonsensitive(sha256(var.bootstrap_data))
  by     = { (local.digest) = 1 }
}

resource "terraform_data" "set" {
  for_each = toset([nonsensitive(sha256(var.bootstrap_data))])
}

resource "terraform_data" "keys" {
  for_each = local.by
}

resource "terraform_data" "loop" {
  for_each = { for d in [local.digest] : d => 1 }
}

resource "aws_autoscaling_group" "count" {
  count = 1 + parseint(substr(local.digest, 0, 1), 16) % 2
}

module "member" {
  source   = "./member"
  for_each = zipmap([terraform_data.digest.output], [1])
}

resource "terraform_data" "digest" {
  input = local.digest
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "kubernetes_version" {
  type    = string
  default = null
}
