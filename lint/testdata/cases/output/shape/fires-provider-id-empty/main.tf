output "provider_id" {
  value = ""
}
