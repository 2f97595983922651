variable "text" {
  type = string
}

output "sha" {
  value     = sha256(var.text)
  sensitive = true
}
