output "failure_domain" {
  value = "elsewhere"
}
