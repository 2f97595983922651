data "terraform_remote_state" "x" {
  backend = "local"
  lifecycle {
    prevent_destroy = true
  }
}
