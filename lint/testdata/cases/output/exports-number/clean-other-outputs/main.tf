output "ratio" {
  value = 0.5
}
