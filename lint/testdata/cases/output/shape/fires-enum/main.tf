output "health" {
  value = { state = "ready", healthy = true }
}
