output "provider_id_list" {
  value = concat(sort(["a"]), sort(["b"]))
}
