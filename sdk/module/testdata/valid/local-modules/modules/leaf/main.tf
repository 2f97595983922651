variable "name" {
  type     = string
  nullable = true
}
output "name" {
  value = var.name
}
