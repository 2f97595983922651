output "addresses" {
  value = []
}
