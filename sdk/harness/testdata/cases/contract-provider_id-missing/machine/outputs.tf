# The contract outputs of role machine, in contract order. They are read from the
# resource, as they would be from a cloud, so a refresh tells what is there.

output "addresses" {
  description = "Addresses of the instance."
  value = var.simulate_missing ? [] : [
    { type = "InternalIP", address = local.address },
    { type = "Hostname", address = terraform_data.instance.input.machine_name },
  ]
}

output "failure_domain" {
  description = "Failure domain that the instance is in."
  value       = terraform_data.instance.input.failure_domain
}

output "interruptible" {
  description = "Whether the cloud may stop the instance at any time."
  value       = var.interruptible
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
