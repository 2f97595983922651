locals {
  # Clouds limit names, and an object's name is unique in its namespace only: cut it, and
  # append a hash of both so that no two groups share a name (CP-053).
  pool_key   = "${var.captf_object.namespace}/${var.captf_object.name}"
  group_name = "${trimsuffix(substr(var.captf_object.name, 0, 54), "-")}-${substr(sha256(local.pool_key), 0, 8)}"

  # With autoscaling the size belongs to the scaler, within the range; without it the group
  # has exactly the wanted size: on a cloud minimum, maximum and desired size are the same.
  size = (var.autoscaling.enabled
    ? max(var.autoscaling.min, min(var.autoscaling.max, one(terraform_data.desired_capacity[*].input)))
    : var.replicas
  )

  # The pool's own failure domains win; without any the cluster's are used.
  failure_domains = length(var.failure_domains) > 0 ? var.failure_domains : var.cluster_failure_domains

  # REPLACE: the members as the cloud lists them, all that are not terminated.
  members = [
    for index in range(terraform_data.group.input.size) : {
      provider_id    = "example:///${terraform_data.group.input.namespace}/${terraform_data.group.input.name}/${index}"
      instance_id    = tostring(index)
      failure_domain = length(local.failure_domains) > 0 ? element(local.failure_domains, index) : null
      state          = "running"
    }
  ]
}
