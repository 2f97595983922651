output "exports" {
  value = {
    kubeconfig_password = "x"
    "join-token"        = "x"
    store_SECRET_KEY    = "x"
    database            = aws_db_instance.this.master_password
  }
}
