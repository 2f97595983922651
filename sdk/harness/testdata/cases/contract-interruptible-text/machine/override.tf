output "interruptible" {
  value = "no"
}
