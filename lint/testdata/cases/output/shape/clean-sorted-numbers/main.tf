output "provider_id_list" {
  value = sort([1, 0.5])
}
