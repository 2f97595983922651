resource "terraform_data" "r" {
  locals {}
}
module "m" {
  source = "./m"
  provider "x" {}
}
provider "terraform" {
  lifecycle {}
}
