# The contract outputs of role machine, in contract order. They are read from the instance,
# so a refresh tells what is there.

locals {
  # One attribute at a time: the instance as a whole is as sensitive as its user data.
  instance_id = one(aws_instance.node[*].id)
  zone_found  = one(aws_instance.node[*].availability_zone)
  state       = length(aws_instance.node) == 0 ? "gone" : one(aws_instance.node[*].instance_state)

  # Every state of EC2; anything else is unknown.
  states = {
    pending       = { state = "pending", reason = "InstancePending", message = "The instance is starting." }
    running       = { state = "running", reason = "", message = "The instance is running." }
    stopping      = { state = "stopped", reason = "InstanceStopping", message = "The instance is stopping." }
    stopped       = { state = "stopped", reason = "InstanceStopped", message = "The instance is stopped." }
    shutting-down = { state = "terminated", reason = "InstanceShuttingDown", message = "The instance is being terminated." }
    terminated    = { state = "terminated", reason = "InstanceTerminated", message = "The instance is terminated." }
    gone          = { state = "terminated", reason = "InstanceNotFound", message = "The instance is gone." }
  }

  # The private DNS name is the hostname too. An instance has public ones only if asked for.
  addresses = {
    InternalIP  = try(coalesce(one(aws_instance.node[*].private_ip)), "")
    InternalDNS = try(coalesce(one(aws_instance.node[*].private_dns)), "")
    Hostname    = try(coalesce(one(aws_instance.node[*].private_dns)), "")
    ExternalIP  = try(coalesce(one(aws_instance.node[*].public_ip)), "")
    ExternalDNS = try(coalesce(one(aws_instance.node[*].public_dns)), "")
  }

  observed = lookup(local.states, coalesce(local.state, "none"), { state = "unknown", reason = "UnknownState", message = "The instance is in a state that is not known." })
}

output "provider_id" {
  description = "Provider id of the instance, exactly as the Node will carry it."
  value       = local.instance_id == null ? null : "aws:///${local.zone_found}/${local.instance_id}"
}

output "addresses" {
  description = "Addresses of the instance."
  value = [
    for type in ["InternalIP", "InternalDNS", "Hostname", "ExternalIP", "ExternalDNS"] : { type = type, address = local.addresses[type] }
    if length(local.addresses[type]) > 0
  ]
}

output "failure_domain" {
  description = "Failure domain that the instance is in."
  # When the instance is gone it stays what it was: it must equal the input all the same.
  value = try(coalesce(local.zone_found, local.zone), null)
}

output "interruptible" {
  description = "Whether the cloud may stop the instance at any time."
  value       = var.spot
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value = {
    state   = local.observed.state
    healthy = local.observed.state == "running"
    message = local.observed.message
    reasons = compact([local.observed.reason])
  }
}
