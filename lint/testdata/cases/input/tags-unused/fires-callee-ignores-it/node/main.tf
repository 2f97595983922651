variable "tags" {
  type = map(string)
}

resource "terraform_data" "node" {
  input = "x"
}
