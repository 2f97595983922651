output "health" {
  value = { state = "running", healthy = true, message = null, reasons = null, extra = 1 }
}
