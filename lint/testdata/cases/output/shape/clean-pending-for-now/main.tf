output "health" {
  value = { state = local.up ? "running" : "pending", healthy = local.up }
}

locals {
  up = aws_instance.node.running
}
