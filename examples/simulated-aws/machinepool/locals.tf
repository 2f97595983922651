locals {
  # Names hold a hash of namespace and name, so that names which are cut, or which differ
  # only in what is replaced, stay apart.
  key  = "${var.captf_object.namespace}/${var.captf_object.name}"
  base = replace(lower("captf-${var.captf_object.namespace}-${var.captf_object.name}"), "/[^a-z0-9-]/", "-")
  name = "${trimsuffix(substr(local.base, 0, 54), "-")}-${substr(sha256(local.key), 0, 8)}" # at most 63 characters

  # An externally managed cluster has no state and so no exports; then they come from the
  # user. try() accepts any shape on either side.
  exports = {
    region                = try(tostring(var.captf_cluster_outputs.region), tostring(var.external_cluster_exports.region), null)
    kubernetes_cluster_id = try(tostring(var.captf_cluster_outputs.kubernetes_cluster_id), tostring(var.external_cluster_exports.kubernetes_cluster_id), null)
    bootstrap_bucket      = try(tostring(var.captf_cluster_outputs.bootstrap_bucket), tostring(var.external_cluster_exports.bootstrap_bucket), null)
    instance_profile      = try(tostring(var.captf_cluster_outputs.instance_profiles.worker), tostring(var.external_cluster_exports.instance_profiles.worker), null)
    security_group_ids    = try(tolist(var.captf_cluster_outputs.security_group_ids.worker), tolist(var.external_cluster_exports.security_group_ids.worker), tolist([]))
    subnet_ids            = try(tomap(var.captf_cluster_outputs.subnet_ids), tomap(var.external_cluster_exports.subnet_ids), tomap({}))
  }
  missing = [for name, value in local.exports : name if try(length(value), 0) == 0]

  tags = merge(var.additional_tags, var.captf_tags)
  owned = {
    for key in compact([try("kubernetes.io/cluster/${local.exports.kubernetes_cluster_id}", "")]) : key => "owned"
  }

  # The pool's own failure domains win, else those that the cluster had when the pool was
  # made: a zone that the cluster gains later moves no member.
  zones    = sort(length(var.failure_domains) > 0 ? var.failure_domains : terraform_data.inherited_zones.input)
  unserved = [for zone in local.zones : zone if !contains(keys(local.exports.subnet_ids), zone)]

  # Build metadata such as +rke2r1 names no other image. Without a version
  # the newest image will do.
  semver     = var.kubernetes_version == null ? "*" : trimprefix(split("+", var.kubernetes_version)[0], "v")
  image_name = replace(var.image.name, "{semver}", local.semver)
}

resource "terraform_data" "inherited_zones" {
  input = length(var.cluster_failure_domains) > 0 ? var.cluster_failure_domains : sort(keys(local.exports.subnet_ids))

  lifecycle {
    ignore_changes = [input]
  }
}
