locals {
  # An externally managed cluster has no state and so no exports; then they come
  # from the user. try() accepts any shape on either side: a missing key is left to
  # the preconditions of the resource that needs it, which can say what to do.
  own_backend_id      = try(tostring(var.captf_cluster_outputs.backend_id), null)
  external_backend_id = try(tostring(var.external_cluster_exports.backend_id), null)
  backend_id          = try(coalesce(local.own_backend_id, local.external_backend_id), null)

  # {} and null both mean that there are no exports.
  externally_managed = try(length(keys(var.captf_cluster_outputs)) == 0, true)
}
