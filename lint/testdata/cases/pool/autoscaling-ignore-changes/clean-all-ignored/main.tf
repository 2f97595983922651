variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

resource "terraform_data" "group" {
  input = var.autoscaling

  lifecycle {
    ignore_changes = all
  }
}
