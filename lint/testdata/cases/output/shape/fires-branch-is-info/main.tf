output "health" {
  value = local.up ? { state = "running", healthy = true } : { state = "down", healthy = false }
}

locals {
  up = aws_instance.node.running
}
