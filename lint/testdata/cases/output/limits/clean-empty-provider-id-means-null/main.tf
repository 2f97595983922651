output "provider_id" {
  value = local.up ? "i-1" : ""
}

locals {
  up = aws_instance.node.running
}
