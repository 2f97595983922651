output "provider_id_list" {
  value = tolist(toset(["b", "a"]))
}
