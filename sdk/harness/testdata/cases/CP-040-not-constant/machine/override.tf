output "provider_id" {
  value = "custom:///${timestamp()}"
}
