# The outputs of role machinepool in contract v1alpha1, in contract order: all of them must
# be declared. Read them from the resources, so that a refresh tells what is there.

# Id of the scaling group. It may stay null.
output "provider_id" {
  description = "Id of the scaling group."
  value       = terraform_data.group.id
}

# Provider ids of all members that are not terminated, whatever their health, sorted. Cluster
# API deletes the Node of a member that is missing (CP-063).
output "provider_id_list" {
  description = "Provider ids of all members that are not terminated, whatever their health, sorted."
  # Keep sort() here, in plain sight: an order that changes between refreshes looks like a
  # change of the members.
  value = sort(local.members[*].provider_id)
}

# Desired capacity of the group as the cloud reports it. It equals the length of
# provider_id_list unless the group is scaling.
output "replicas" {
  description = "Desired capacity of the group as the cloud reports it."
  # REPLACE: the size that the cloud reports, never the input.
  value = terraform_data.group.input.size
}

# Members with their state. Lists beyond 1000 are cut in the status.
output "instances" {
  description = "Members with their state."
  value       = local.members
}

# Health of the infrastructure as the cloud sees it. While the state is pending the object stays
# unprovisioned; never wait for a Node.
output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value       = local.health
}
