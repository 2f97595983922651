provider "terraform" {
  alias = "a b"
}
provider "terra_form" {}
