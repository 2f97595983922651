output "health" {
  value = { state = "running" }
}
