output "failure_domains" {
  value = { a = { name = "a" } }
}
