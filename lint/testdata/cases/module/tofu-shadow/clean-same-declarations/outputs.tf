output "provider_id" {
  value = "x"
}
