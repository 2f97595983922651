output "health" {
  value = { state = local.up ? "pending" : local.starting, healthy = false }
}

locals {
  up       = aws_instance.node.running
  starting = "pending"
}
