resource "terraform_data" "r" {
  lifecycle {
    enabled = true
  }
}
