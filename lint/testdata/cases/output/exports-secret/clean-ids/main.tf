output "exports" {
  value = { network_id = aws_vpc.this.id, token = null, token_secret_id = "x" }
}
