variable "tags" {
  type = map(string)
}

resource "terraform_data" "labels" {
  input = { for key, value in var.tags : replace(key, "/", "_") => value }
}

output "labels" {
  value = terraform_data.labels.output
}
