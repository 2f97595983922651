output "addresses" {
  value = [{ type = "IP", address = "10.0.0.1" }]
}
