variable "keep" {
  type    = bool
  default = true
}
resource "terraform_data" "r" {
  lifecycle {
    prevent_destroy = var.keep
  }
}
