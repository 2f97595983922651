resource "terraform_data" "group" {
  triggers_replace = sha256(var.bootstrap_data)
}
