resource "terraform_data" "a" {
  input = 1
}
resource "terraform_data" "b" {
  provider   = terraform
  depends_on = ["terraform_data.a"]
  lifecycle {
    ignore_changes = ["input"]
  }
}
