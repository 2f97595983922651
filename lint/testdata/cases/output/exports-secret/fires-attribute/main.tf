output "exports" {
  value = { admin = tls_private_key.admin.private_key }
}
