output "id" {
  value = terraform_data.node.id
}

resource "terraform_data" "node" {
  input = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
