variable "x" {
  type = string
}
resource "terraform_data" "r" {
  input = var.x
}
