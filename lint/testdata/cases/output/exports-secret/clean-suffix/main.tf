output "exports" {
  value = {
    token_id        = "x"
    secret_name     = "x"
    broken          = "x"
    passwords_store = one(aws_secretsmanager_secret.join_token[*].arn)
  }
}
