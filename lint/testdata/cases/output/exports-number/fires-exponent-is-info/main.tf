output "exports" {
  value = { size = 1e3 }
}
