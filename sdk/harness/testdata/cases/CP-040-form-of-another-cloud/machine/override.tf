output "provider_id" {
  value = "openstack://${var.machine_name}"
}
