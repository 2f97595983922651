output "provider_id_list" {
  value = values({ b = "x", a = "y" })
}
