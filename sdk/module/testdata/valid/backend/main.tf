terraform {
  backend "local" {
    path = "x.tfstate"
  }
}
output "x" {
  value = 1
}
