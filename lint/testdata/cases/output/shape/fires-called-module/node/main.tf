variable "state" {
  type = string
}

output "health" {
  value = {
    state   = var.state
    healthy = true
  }
}
