variable "images" {}

output "x" {
  value = var.images.node
}
