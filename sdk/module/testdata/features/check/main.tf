check "x" {
  assert {
    condition     = terraform_data.r.id != ""
    error_message = "Empty."
  }
}
resource "terraform_data" "r" {}
