module "payload" {
  source  = "./payload"
  content = var.bootstrap_data
}

resource "openstack_compute_instance_v2" "member" {
  name      = "member"
  user_data = module.payload.rendered
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
