output "extra" {
  value = 1
}
