output "digest" {
  value = { sha = local.digest }
}

locals {
  digest = sha256(base64decode(var.bootstrap_data))
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
