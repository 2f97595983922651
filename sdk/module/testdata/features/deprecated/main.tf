variable "x" {
  default    = 1
  deprecated = "Use y."
}
output "x" {
  value      = 1
  deprecated = "Use y."
}
