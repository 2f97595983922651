output "health" {
  value = merge({ healthy = true, state = "x" }, local.more)
}

locals {
  more = jsondecode(aws_instance.node.health)
}
