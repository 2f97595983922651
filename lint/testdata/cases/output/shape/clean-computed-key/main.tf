output "health" {
  value = { (local.key) = "running", healthy = true }
}

locals {
  key = aws_instance.node.key
}
