resource "terraform_data" "member" {
  triggers_replace = { payload = sha256(local.payload) }
}

locals {
  payload = base64decode(var.bootstrap_data)
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
