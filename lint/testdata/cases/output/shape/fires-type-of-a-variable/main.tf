output "provider_id" {
  value = var.ids
}

variable "ids" {
  type    = list(string)
  default = []
}
