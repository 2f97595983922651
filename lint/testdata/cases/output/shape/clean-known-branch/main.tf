output "health" {
  value = true ? { state = "running", healthy = true } : { state = "down" }
}
