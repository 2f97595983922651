output "health" {
  value = tomap({ state = "running", healthy = true })
}
