locals {
  now  = timestamp()
  made = { at = local.now }
}

resource "terraform_data" "node" {
  input = local.made

  lifecycle {
    ignore_changes = [input]
  }
}
