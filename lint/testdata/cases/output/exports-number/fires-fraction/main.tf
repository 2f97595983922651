output "exports" {
  value = { ratio = 0.5 }
}
