output "exports" {
  value = { size = floor(2.5) }
}
