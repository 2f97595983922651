output "health" {
  value = null
}
