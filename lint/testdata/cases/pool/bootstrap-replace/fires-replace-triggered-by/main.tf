resource "terraform_data" "payload" {
  input = var.bootstrap_data
}

resource "terraform_data" "member" {
  lifecycle {
    replace_triggered_by = [terraform_data.payload]
  }
}

resource "terraform_data" "other" {
  lifecycle {
    replace_triggered_by = [terraform_data.payload.output]
  }
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
