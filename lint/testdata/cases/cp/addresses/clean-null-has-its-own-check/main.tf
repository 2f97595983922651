output "addresses" {
  value = null
}
