output "endpoint" {
  value = null
}
