output "provider_id" {
  value = "noop:///${var.captf_object.namespace}/${substr(terraform_data.instance.input.machine_name, 0, 24)}"
}
