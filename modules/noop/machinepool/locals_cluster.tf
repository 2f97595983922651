locals {
  # An externally managed cluster has no state and so no exports; then they come
  # from the user. try() accepts any shape on either side.
  own_backend_id      = try(tostring(var.captf_cluster_outputs.backend_id), null)
  external_backend_id = try(tostring(var.external_cluster_exports.backend_id), null)
  backend_id          = try(coalesce(local.own_backend_id, local.external_backend_id), null)
}
