output "provider_id" {
  value = local.ready ? "aws:///a/i-1" : null
}

output "failure_domain" {
  value = null
}

output "interruptible" {
  value = null
}

locals {
  ready = aws_instance.node.running
}
