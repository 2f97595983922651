output "exports" {
  value = { join = local.join }
}

locals {
  join = base64encode(var.join)
}

variable "join" {
  type      = string
  default   = ""
  sensitive = true
}
