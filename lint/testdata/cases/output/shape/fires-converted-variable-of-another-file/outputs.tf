output "replicas" {
  value = tostring(var.replicas)
}
