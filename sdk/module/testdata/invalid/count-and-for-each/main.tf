resource "terraform_data" "r" {
  count    = 1
  for_each = {}
}
