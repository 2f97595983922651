provider "terraform" {}
provider "terraform" {}
