resource "terraform_data" "a" {
  provider = terraform.x.y
}
resource "terraform_data" "b" {
  provider = terraform.a.b.c
}
resource "terraform_data" "c" {
  provider = "${terraform}x"
}
resource "terraform_data" "d" {
  provider = terraform-.x
}
resource "terraform_data" "e" {
  provider = -terraform
}
