output "provider_id" {
  value = null
}

output "replicas" {
  value = null
}

output "instances" {
  value = null
}

output "extra" {
  value = null
}
