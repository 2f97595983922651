variable "x" {
  type = string
}
output "x" {
  value = <<-EOT
    one ${var.x}
    two
  EOT
}
