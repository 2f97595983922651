output "exports" {
  value = {
    backend_id = "noop-backend"
    ratio      = 0.5
  }
}
