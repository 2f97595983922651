output "provider_id" {
  value = "cloud:///${terraform_data.instance.input.machine_name}"
}
