output "failure_domains" {
  value = [
    { name = "a" },
    { name = "b" },
    { name = "a" },
  ]
}
