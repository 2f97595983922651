output "health" {
  value = {
    state   = upper("running")
    healthy = true
  }
}
