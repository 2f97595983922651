locals {
  now = timestamp()
}

resource "terraform_data" "node" {
  input = local.now

  lifecycle {
    ignore_changes = [input]
  }
}

output "at" {
  value = local.now
}
