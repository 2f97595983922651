output "replicas" {
  value = -1
}
