output "failure_domains" {
  value = [{ name = "fd1", control_plane = false }]
}
