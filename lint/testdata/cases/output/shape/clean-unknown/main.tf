output "health" {
  value = local.health
}

locals {
  health = jsondecode(aws_instance.node.health)
}
