output "provider_id_list" {
  value = core::sort(["b", "a"])
}
