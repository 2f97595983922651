output "health" {
  value = { state = "unknown", healthy = false }
}
