output "provider_id_list" {
  value = sort([for i in range(3) : { id = i }])
}
