variable "x" {
  ephemeral = true
  default   = ""
}
output "x" {
  value     = var.x
  ephemeral = true
}
