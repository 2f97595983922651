variable "captf_tags" {
  type = map(string)
}

resource "terraform_data" "node" {
  input = { tags = var.captf_tags }
}
