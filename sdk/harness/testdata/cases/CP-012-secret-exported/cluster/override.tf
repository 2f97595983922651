output "exports" {
  value = {
    backend_id = "noop-backend"
    registry   = { password = "hunter2" }
  }
}
