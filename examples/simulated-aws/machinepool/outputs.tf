# The contract outputs of role machinepool, in contract order. They are read from the cloud,
# so a refresh tells what is there.

output "provider_id" {
  description = "Id of the scaling group."
  value       = one(aws_autoscaling_group.pool[*].arn)
}

output "provider_id_list" {
  description = "Provider ids of all members that are not terminated, whatever their health, sorted."
  value       = sort([for member in local.members : "aws:///${member.zone}/${member.id}"])
}

output "replicas" {
  description = "Desired capacity of the group as the cloud reports it."
  value       = local.desired
}

output "instances" {
  description = "Members with their state."
  value = [
    for member in local.members : {
      provider_id    = "aws:///${member.zone}/${member.id}"
      instance_id    = member.id
      failure_domain = member.zone
      state          = member.state
    }
  ]
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  value = {
    state   = local.verdict.state
    healthy = local.verdict.state == "running" && length(local.verdict.reasons) == 0
    message = local.verdict.message
    reasons = local.verdict.reasons
  }
}

output "dropped_node_labels" {
  description = "Labels that members do not get, because no kubelet may give itself such a label."
  value       = local.refused_labels
}
