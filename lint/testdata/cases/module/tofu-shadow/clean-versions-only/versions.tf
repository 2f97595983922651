terraform {
  required_version = ">= 1.5"
}

output "x" {
  value = 1
}
