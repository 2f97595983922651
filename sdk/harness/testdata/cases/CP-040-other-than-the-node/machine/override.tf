output "provider_id" {
  value = "noop:///${var.captf_object.namespace}/another"
}
