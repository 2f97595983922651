output "provider_id" {
  value = null
}
