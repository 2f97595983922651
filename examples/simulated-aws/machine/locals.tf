locals {
  # An externally managed cluster has no state and so no exports; then they come from the
  # user. try() accepts any shape on either side.
  exports = {
    region                = try(tostring(var.captf_cluster_outputs.region), tostring(var.external_cluster_exports.region), null)
    kubernetes_cluster_id = try(tostring(var.captf_cluster_outputs.kubernetes_cluster_id), tostring(var.external_cluster_exports.kubernetes_cluster_id), null)
    bootstrap_bucket      = try(tostring(var.captf_cluster_outputs.bootstrap_bucket), tostring(var.external_cluster_exports.bootstrap_bucket), null)
    instance_profile      = try(tostring(var.captf_cluster_outputs.instance_profiles[local.role]), tostring(var.external_cluster_exports.instance_profiles[local.role]), null)
    security_group_ids    = try(tolist(var.captf_cluster_outputs.security_group_ids[local.role]), tolist(var.external_cluster_exports.security_group_ids[local.role]), tolist([]))
    subnet_ids            = try(tomap(var.captf_cluster_outputs.subnet_ids), tomap(var.external_cluster_exports.subnet_ids), tomap({}))
  }
  missing = [for name, value in local.exports : name if try(length(value), 0) == 0]

  # Empty when somebody else provides the endpoint.
  target_groups = {
    for key, group in try(var.captf_cluster_outputs.target_groups, var.external_cluster_exports.target_groups, {}) : key => group
    if var.control_plane
  }

  role = var.control_plane ? "control_plane" : "worker"
  tags = merge(var.additional_tags, var.captf_tags)
  owned = {
    for key in compact([try("kubernetes.io/cluster/${local.exports.kubernetes_cluster_id}", "")]) : key => "owned"
  }

  # Without a failure domain the machine's name decides, so that every plan decides alike.
  zones = sort(keys(local.exports.subnet_ids))
  zone = (var.failure_domain != null
    ? var.failure_domain
    : try(element(local.zones, parseint(substr(sha256(var.machine_name), 0, 8), 16) % length(local.zones)), null)
  )

  # Build metadata such as +rke2r1 names no other image (CP-050). Without a version
  # the newest image will do.
  semver     = var.kubernetes_version == null ? "*" : trimprefix(split("+", var.kubernetes_version)[0], "v")
  image_name = replace(var.image.name, "{semver}", local.semver)
}
