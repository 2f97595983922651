output "exports" {
  value = {
    backend_id = "noop-backend"
    applied_at = timestamp()
  }
}
