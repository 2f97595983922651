output "control_plane_endpoint" {
  value = { host = "own-${var.captf_cluster.name}.invalid", port = 6443 }
}
