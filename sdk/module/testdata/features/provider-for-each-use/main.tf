provider "terraform" {
  alias    = "by"
  for_each = toset(["a"])
}
resource "terraform_data" "r" {
  for_each = toset(["a"])
  provider = terraform.by[each.key]
}
resource "terraform_data" "s" {
  provider = terraform.by["a"]
}
