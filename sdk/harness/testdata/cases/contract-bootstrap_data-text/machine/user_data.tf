resource "terraform_data" "user_data" {
  input = base64decode(var.bootstrap_data)
}
