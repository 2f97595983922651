output "provider_id_list" {
  # Other comments may stand between.
  # tfcapi-lint:ignore output/provider-id-list-shape the cloud sorts
  # and this one, too
  value = distinct([
    1,
  ])
}
