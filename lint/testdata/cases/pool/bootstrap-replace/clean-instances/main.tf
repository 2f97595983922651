locals {
  bootable = var.bootstrap_data != ""
  members  = { for i in range(3) : "m${i}" => sha256(var.bootstrap_data) }
}

resource "terraform_data" "values" {
  for_each = nonsensitive(local.members)
  input    = each.value
}

resource "terraform_data" "given" {
  count = nonsensitive(local.bootable) ? 1 : 0
}

resource "terraform_data" "given_too" {
  count = nonsensitive(length(var.bootstrap_data)) > 0 ? 3 : 0
}

resource "terraform_data" "copied" {
  for_each = { for name, payload in local.members : name => payload if name != "m0" }
}

# A new template touches no member.
resource "aws_launch_template" "by_digest" {
  for_each = toset([nonsensitive(sha256(var.bootstrap_data))])
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "kubernetes_version" {
  type    = string
  default = null
}
