output "health" {
  value = { state = "degraded", healthy = false, reasons = ["NoBackend"] }
}
