output "failure_domains" {
  value = var.control_plane_initialized ? [{ name = "fd2" }] : [{ name = "fd1" }]
}
