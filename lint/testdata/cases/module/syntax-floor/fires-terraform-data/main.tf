terraform {
  required_version = "~> 1.3.0"
}

resource "terraform_data" "node" {}
