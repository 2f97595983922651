variable "failure_domain" {
  type = string
}

resource "terraform_data" "node" {
  input = var.failure_domain
}
