output "addresses" {
  value = [
    { type = "InternalIP", address = "10.0.0.1" },
    { type = "PublicIP", address = "192.0.2.1" },
  ]
}
