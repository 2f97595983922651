variable "labels" {
  type = map(string)
}

resource "terraform_data" "node" {
  input = var.labels
}
