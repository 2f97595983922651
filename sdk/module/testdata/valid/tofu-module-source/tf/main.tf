output "x" {
  value = "tf"
}
