output "provider_id" {
  value = "x"
}

variable "token" {
  type      = string
  default   = null
  ephemeral = true
}
