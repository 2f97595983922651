resource "terraform_data" "a" {
  provider = terraform["x"]
}
resource "terraform_data" "b" {
  provider = Terraform
}
