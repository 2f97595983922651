resource "terraform_data" "backend_member" {
  count = 1
}
