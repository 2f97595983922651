resource "terraform_data" "node" {}

resource "terraform_data" "disk" {}

import {
  to = terraform_data.node
  id = "node"
}

import {
  to = terraform_data.disk
  id = "disk"
}
