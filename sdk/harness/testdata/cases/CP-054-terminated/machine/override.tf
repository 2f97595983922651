output "health" {
  value = { state = "terminated", healthy = false }
}
