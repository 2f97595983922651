variable "x" {
  default = var.y
}
variable "y" {
  default = upper("x")
}
