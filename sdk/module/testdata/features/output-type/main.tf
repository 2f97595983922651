output "x" {
  type  = number
  value = 1
}
