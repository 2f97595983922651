resource "terraform_data" "r" {
  lifecycle {
    destroy = false
  }
}
