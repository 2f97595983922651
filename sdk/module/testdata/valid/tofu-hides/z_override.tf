output "from" {
  value = "terraform override"
}
