resource "terraform_data" "user_data" {
  input = can(base64decode(var.bootstrap_data)) ? trimspace(base64decode(var.bootstrap_data)) : var.bootstrap_data
}
