output "health" {
  value = { state = "pending", healthy = false, message = "waiting for backends" }
}
