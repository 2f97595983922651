output "provider_id_list" {
  value = sort(compact([""]))
}
