output "failure_domains" {
  value = concat(tolist([{ name = "a" }]), tolist([{ name = 1 }]))
}
