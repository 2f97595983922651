output "failure_domains" {
  value = [{ name = "fd1" }, { name = "fd1" }]
}
