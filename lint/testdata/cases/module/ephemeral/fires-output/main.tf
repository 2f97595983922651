output "provider_id" {
  value     = "x"
  ephemeral = true
}
