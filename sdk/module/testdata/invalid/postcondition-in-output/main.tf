output "x" {
  value = terraform_data.r.id
  postcondition {
    condition     = terraform_data.r.id != ""
    error_message = "Empty."
  }
}
resource "terraform_data" "r" {}
