output "interruptible" {
  value = var.machine_name
}
