output "y" {
  value = 1
}
resource "terraform_data" "r" {}
