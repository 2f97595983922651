output "replicas" {
  value = 3
}
