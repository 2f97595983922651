variable "x" {
  type = string
}
output "from" {
  value = "terraform"
}
