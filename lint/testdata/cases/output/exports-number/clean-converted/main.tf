output "exports" {
  value = tomap({ a = 0.5, b = "x" })
}
