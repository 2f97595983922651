resource "terraform_data" "instance" {
  lifecycle {
    prevent_destroy = true
  }
}
