variable "x" {
  sensitive   = tobool("true")
  description = "Size ${var.y}."
}
variable "y" {}
