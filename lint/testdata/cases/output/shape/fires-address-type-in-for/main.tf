output "addresses" {
  value = [for a in local.addresses : { type = "IP", address = a }]
}

locals {
  addresses = aws_instance.node.private_ips
}
