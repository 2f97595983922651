output "x" {}
