# The outputs of role machine in contract v1alpha1, in contract order: all of them must
# be declared. Read them from the resources, so that a refresh tells what is there.

# Provider id of the instance, exactly as the Node will carry it. Constant for life; null once
# the instance is gone (CP-040).
output "provider_id" {
  description = "Provider id of the instance, exactly as the Node will carry it."
  # REPLACE: what the cloud's controller manager writes into the Node, to the letter.
  value = "aws:///${terraform_data.instance.input.namespace}/${terraform_data.instance.input.name}"
}

# Addresses of the instance. At least one, InternalIP among them if there is any (CP-042).
output "addresses" {
  description = "Addresses of the instance."
  value = [
    { type = "InternalIP", address = local.address },
    { type = "Hostname", address = terraform_data.instance.input.hostname },
  ]
}

# Failure domain that the instance is in. It must equal the input when that is not null
# (CP-045).
output "failure_domain" {
  description = "Failure domain that the instance is in."
  value       = terraform_data.instance.input.failure_domain
}

# Whether the cloud may stop the instance at any time. Declare it even without support for such
# instances.
output "interruptible" {
  description = "Whether the cloud may stop the instance at any time."
  value       = false
}

# Health of the infrastructure as the cloud sees it. While the state is pending the object stays
# unprovisioned; never wait for a Node.
output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
