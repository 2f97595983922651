output "health" {
  value = local.up ? { state = "up", healthy = true } : { state = "down", healthy = false }
}

locals {
  up = aws_instance.node.running
}
