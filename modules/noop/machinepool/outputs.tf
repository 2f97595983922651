# The contract outputs of role machinepool, in contract order. They are read from the
# resource, as they would be from a cloud, so a refresh tells what is there.

output "provider_id" {
  description = "Id of the scaling group."
  value = (var.simulate_missing
    ? null
    : "noop-group:///${terraform_data.group.input.object.namespace}/${terraform_data.group.input.object.name}"
  )
}

output "provider_id_list" {
  description = "Provider ids of all members that are not terminated, whatever their health, sorted."
  # Sorted here and not in a local: the order must be plain to see, because one that
  # changes between refreshes looks like a change of the members (CP-063). It is the
  # order of text: the member 10 stands before the member 2.
  value = sort(local.member_ids)
}

output "replicas" {
  description = "Desired capacity of the group as the cloud reports it."
  value       = terraform_data.group.input.replicas
}

output "instances" {
  description = "Members with their state."
  value = [
    for index, id in local.member_ids : {
      provider_id    = id
      instance_id    = tostring(index)
      failure_domain = length(local.failure_domains) > 0 ? element(local.failure_domains, index) : null
      state          = local.health.state
    }
  ]
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
