output "addresses" {
  value = [{ type = "InternalIP", address = "${local.address}/15" }]
}
