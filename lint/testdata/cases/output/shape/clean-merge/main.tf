output "health" {
  value = merge({ healthy = true, state = "x" }, { state = "running" })
}
