resource "openstack_compute_instance_v2" "member" {
  count     = 3
  user_data = base64decode(var.bootstrap_data)
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
