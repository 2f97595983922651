output "health" {
  value = { state = "running", healthy = false }
}
