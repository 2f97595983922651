output "addresses" {
  value = [
    { type = "InternalIP", address = "198.18.0.1" },
    { type = "Hostname", address = var.machine_name },
  ]
}
