output "addresses" {
  value = [{ type = "InternalIP", address = "127.0.0.1" }]
}
