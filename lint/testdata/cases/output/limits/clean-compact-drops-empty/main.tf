output "failure_domains" {
  value = [for z in compact([""]) : { name = z }]
}
