resource "terraform_data" "r" {
  lifecycle {
    enabled = true
  }
}
output "x" {
  type  = string
  value = terraform_data.r.id
}
