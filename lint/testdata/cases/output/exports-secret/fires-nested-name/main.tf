output "exports" {
  value = { registry = { password = "hunter2" } }
}
