output "exports" {
  value = {}
}
