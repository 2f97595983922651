output "x" {
  value = [
}
