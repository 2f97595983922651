resource "terraform_data" "payload" {
  input = var.bootstrap_data
}

resource "terraform_data" "once" {
  count            = 1
  triggers_replace = terraform_data.payload.output
}

locals {
  by = [terraform_data.once[0].id]
}

resource "terraform_data" "member" {
  triggers_replace = local.by
}

resource "terraform_data" "follower" {
  lifecycle {
    replace_triggered_by = [terraform_data.once[0].id]
  }
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
