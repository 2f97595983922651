output "provider_id" {
  value = "x"
}

output "extra" {
  value = 1
}
