variable "captf_tags" {
  type = map(string)
}

output "tags" {
  value = var.captf_tags
}
