output "provider_id_list" {
  value = distinct(keys({ b = 1, a = 2 }))
}
