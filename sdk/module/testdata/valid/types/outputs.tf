output "any" {
  value       = var.any
  description = "Whatever came in."
}
output "null" {
  value = null
}
