output "kept" {
  value = 1
}
