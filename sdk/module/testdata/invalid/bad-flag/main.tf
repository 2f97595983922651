variable "x" {
  sensitive = "maybe"
}
output "y" {
  value     = 1
  sensitive = null
}
