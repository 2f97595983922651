locals {
  # With autoscaling the size belongs to the scaler, within the range; without it
  # the group has exactly the wanted size. min() and max() do for a record what a
  # cloud does when the bounds of a group move past its desired capacity.
  size = (var.autoscaling.enabled
    ? max(var.autoscaling.min, min(var.autoscaling.max, one(terraform_data.desired_capacity[*].input)))
    : var.replicas
  )

  # The pool's own failure domains win; without any the cluster's are used.
  failure_domains = length(var.failure_domains) > 0 ? var.failure_domains : var.cluster_failure_domains

  # The id of a member never depends on the others, so scaling in drops the last
  # ones and renames nobody.
  generated_ids = [
    for index in range(terraform_data.group.input.replicas) :
    "noop:///${terraform_data.group.input.object.namespace}/${terraform_data.group.input.object.name}/${index}"
  ]

  member_ids = var.simulate_missing ? [] : var.provider_id_list_override == null ? local.generated_ids : var.provider_id_list_override
}
