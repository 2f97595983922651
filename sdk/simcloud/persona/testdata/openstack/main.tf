terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

variable "replicas" { default = 3 }

data "openstack_compute_availability_zones_v2" "all" {}
data "openstack_images_image_v2" "image" { name = "capi" }

resource "openstack_networking_network_v2" "n" {
  name = "nodes"
  tags = ["a=b"]
}
resource "openstack_networking_subnet_v2" "s" {
  name       = "nodes"
  network_id = openstack_networking_network_v2.n.id
  cidr       = "10.3.0.0/24"
}
resource "openstack_networking_router_v2" "r" { name = "out" }
resource "openstack_networking_router_interface_v2" "r" {
  router_id = openstack_networking_router_v2.r.id
  subnet_id = openstack_networking_subnet_v2.s.id
}
resource "openstack_networking_secgroup_v2" "g" {
  name                 = "nodes"
  delete_default_rules = true
}
resource "openstack_networking_secgroup_rule_v2" "api" {
  security_group_id = openstack_networking_secgroup_v2.g.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 6443
  port_range_max    = 6443
  remote_ip_prefix  = "10.3.0.0/24"
}
resource "openstack_lb_loadbalancer_v2" "api" {
  name          = "api"
  vip_subnet_id = openstack_networking_subnet_v2.s.id
}
resource "openstack_lb_listener_v2" "api" {
  loadbalancer_id = openstack_lb_loadbalancer_v2.api.id
  protocol        = "TCP"
  protocol_port   = 6443
}
resource "openstack_lb_pool_v2" "api" {
  listener_id = openstack_lb_listener_v2.api.id
  protocol    = "TCP"
  lb_method   = "ROUND_ROBIN"
}
resource "openstack_lb_monitor_v2" "api" {
  pool_id     = openstack_lb_pool_v2.api.id
  type        = "TCP"
  delay       = 10
  timeout     = 5
  max_retries = 2
}
resource "openstack_compute_servergroup_v2" "g" {
  name     = "cp"
  policies = ["soft-anti-affinity"]
}
resource "openstack_networking_port_v2" "p" {
  count              = var.replicas
  network_id         = openstack_networking_network_v2.n.id
  security_group_ids = [openstack_networking_secgroup_v2.g.id]
  fixed_ip { subnet_id = openstack_networking_subnet_v2.s.id }
}
resource "openstack_lb_member_v2" "m" {
  count         = var.replicas
  pool_id       = openstack_lb_pool_v2.api.id
  address       = openstack_networking_port_v2.p[count.index].all_fixed_ips[0]
  protocol_port = 6443
}
resource "openstack_compute_instance_v2" "i" {
  count             = var.replicas
  name              = "node-${count.index}"
  flavor_name       = "m1.large"
  image_id          = data.openstack_images_image_v2.image.id
  availability_zone = data.openstack_compute_availability_zones_v2.all.names[0]
  user_data         = "#cloud-config"
  network { port = openstack_networking_port_v2.p[count.index].id }
  scheduler_hints { group = openstack_compute_servergroup_v2.g.id }
  depends_on = [openstack_lb_member_v2.m]
}
data "openstack_compute_instance_v2" "i" { id = openstack_compute_instance_v2.i[0].id }
data "openstack_lb_loadbalancer_v2" "api" { loadbalancer_id = openstack_lb_loadbalancer_v2.api.id }

output "members" { value = length(openstack_compute_instance_v2.i) }
output "addresses" { value = concat(openstack_compute_instance_v2.i[*].access_ip_v4, [openstack_lb_loadbalancer_v2.api.vip_address]) }
output "states" { value = [data.openstack_compute_instance_v2.i.power_state, data.openstack_lb_loadbalancer_v2.api.provisioning_status] }
