output "health" {
  value = { state = "running", healthy = true }
}
