terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

resource "openstack_lb_monitor_v2" "m" {
  pool_id     = "p"
  type        = "TCP"
  delay       = 5
  timeout     = 10
  max_retries = 3
}
