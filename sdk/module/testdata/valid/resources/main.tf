variable "names" {
  type    = set(string)
  default = []
}
locals {
  first = terraform_data.counted[0].id
  all   = { for k, v in terraform_data.each : k => v.id if v.id != "" }
}
resource "terraform_data" "counted" {
  count = 2
  input = count.index
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = false
    ignore_changes        = [input, triggers_replace]
    replace_triggered_by  = [terraform_data.trigger.id]
    precondition {
      condition     = length(var.names) >= 0
      error_message = "No names."
    }
    postcondition {
      condition     = self.id != ""
      error_message = "No id."
    }
  }
}
resource "terraform_data" "each" {
  for_each   = var.names
  input      = { key = each.key, nested = { text = "<${each.value}>" } }
  depends_on = [terraform_data.counted, terraform_data.trigger]
  lifecycle {
    ignore_changes = all
  }
}
resource "terraform_data" "trigger" {
  provider = terraform
  provisioner "local-exec" {
    command = "true"
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "echo ${self.id}"
  }
}
data "terraform_remote_state" "other" {
  backend = "local"
  config = {
    path = "other.tfstate"
  }
}
check "sane" {
  data "terraform_remote_state" "checked" {
    backend = "local"
    config = {
      path = "checked.tfstate"
    }
  }
  assert {
    condition     = local.first != ""
    error_message = "Not sane: ${jsonencode(local.all)}."
  }
}
moved {
  from = terraform_data.old
  to   = terraform_data.trigger
}
