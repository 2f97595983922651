output "y" {
  depends_on = [terraform_data.r]
}
