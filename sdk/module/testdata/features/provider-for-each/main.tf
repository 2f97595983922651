provider "terraform" {
  alias    = "by_region"
  for_each = toset(["a"])
}
