locals {
  # Object names have up to 253 characters, and so has a whole DNS name: beyond
  # 240 the name is cut, and a hash keeps two that share their start apart.
  host_name = (length(var.captf_object.name) <= 240
    ? var.captf_object.name
    : "${substr(var.captf_object.name, 0, 231)}-${substr(sha256(var.captf_object.name), 0, 8)}"
  )

  # The top-level domain .invalid is reserved and never resolves, so nothing can
  # be sent to a stranger by mistake.
  own_host = var.endpoint_host == null ? "noop-${local.host_name}.invalid" : var.endpoint_host

  # An endpoint that somebody else provides is used as it is (CP-002). The module's
  # own must be there with the first apply (CP-001) and must never change (CP-003):
  # it depends on nothing but the object's name.
  endpoint = (var.control_plane_endpoint != null
    ? var.control_plane_endpoint
    : local.own_host == "" ? null : { host = local.own_host, port = var.endpoint_port }
  )
}
