variable "x" {
  typ = string
}
output "y" {
  value    = 1
  required = true
}
terraform {
  required_versions = ">= 1"
}
