output "x" {
  value = 2
}
