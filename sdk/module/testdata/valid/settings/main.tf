provider "terraform" {}
output "x" {
  value = 1
}
