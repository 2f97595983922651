output "instances" {
  value = [for index, id in local.member_ids : { provider_id = "i-${index}", state = "running" }]
}
