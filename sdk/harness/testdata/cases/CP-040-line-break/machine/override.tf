output "provider_id" {
  value = "noop:///${terraform_data.instance.input.object.namespace}/${terraform_data.instance.input.machine_name}\n"
}
