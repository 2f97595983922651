output "health" {
  value = {
    state   = "running"
    healthy = "yes"
    reasons = "none"
  }
}
