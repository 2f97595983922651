output "addresses" {
  value = [
    { type = "InternalIP", address = local.address },
    { type = "Hostname", address = "node" },
  ]
}
