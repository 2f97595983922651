output "addresses" {
  value = [{ type = "ExternalIP", address = "203.0.113.7" }]
}
