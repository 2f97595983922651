output "control_plane_endpoint" {
  value = local.endpoint
}

locals {
  endpoint = local.none
  none     = null
}
