output "exports" {
  value = { token = aws_instance.bastion.id }
}
