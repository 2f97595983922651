provider "terraform" {
  count = 2
}
