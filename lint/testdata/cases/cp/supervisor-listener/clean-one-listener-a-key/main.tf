variable "distribution" {
  type    = string
  default = "rke2"
}

locals {
  listeners = merge(
    { kube_apiserver = { port = 6443 } },
    var.distribution == "rke2" ? { rke2_supervisor = { port = 9345 } } : {},
  )
}

resource "openstack_lb_listener_v2" "api" {
  for_each      = local.listeners
  protocol_port = each.value.port
}
