output "health" {
  value = { state = "fine", healthy = true }
}
