terraform {
  cloud {
    organization = "x"
  }
}
output "x" {
  value = 1
}
