output "x" {
  value      = 1
  depends_on = [1 + 1]
}
resource "terraform_data" "r" {
  depends_on = "terraform_data.s"
}
