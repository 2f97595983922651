output "exports" {
  value = { size = 100, ratio = "0.5" }
}
