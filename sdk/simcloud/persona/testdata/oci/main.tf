terraform {
  required_providers {
    oci = { source = "oracle/oci" }
  }
}

variable "replicas" { default = 3 }
variable "compartment" { default = "ocid1.compartment.oc1..aaaa" }

data "oci_identity_availability_domains" "all" { compartment_id = var.compartment }

resource "oci_core_vcn" "v" {
  compartment_id = var.compartment
  cidr_blocks    = ["10.7.0.0/16"]
}
resource "oci_core_subnet" "s" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.v.id
  cidr_block     = "10.7.1.0/24"
}
resource "oci_core_network_security_group" "g" {
  compartment_id = var.compartment
  vcn_id         = oci_core_vcn.v.id
}
resource "oci_core_network_security_group_security_rule" "r" {
  network_security_group_id = oci_core_network_security_group.g.id
  direction                 = "INGRESS"
  protocol                  = "6"
  source                    = "10.7.0.0/16"
  tcp_options {
    destination_port_range {
      min = 6443
      max = 6443
    }
  }
}
resource "oci_network_load_balancer_network_load_balancer" "api" {
  compartment_id = var.compartment
  display_name   = "api"
  subnet_id      = oci_core_subnet.s.id
  is_private     = true
}
resource "oci_network_load_balancer_backend_set" "api" {
  name                     = "kube-apiserver"
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.api.id
  policy                   = "FIVE_TUPLE"
  is_preserve_source       = false
  health_checker { protocol = "TCP" }
}
resource "oci_network_load_balancer_listener" "api" {
  name                     = "kube-apiserver"
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.api.id
  default_backend_set_name = oci_network_load_balancer_backend_set.api.name
  port                     = 6443
  protocol                 = "TCP"
}
resource "oci_core_instance" "i" {
  count               = 2
  compartment_id      = var.compartment
  availability_domain = data.oci_identity_availability_domains.all.availability_domains[count.index].name
  shape               = "VM.Standard.E5.Flex"
  display_name        = "node-${count.index}"
  metadata            = { user_data = base64encode("#cloud-config") }
  source_details {
    source_type = "image"
    source_id   = "ocid1.image.oc1..aaaa"
  }
  create_vnic_details {
    subnet_id = oci_core_subnet.s.id
    nsg_ids   = [oci_core_network_security_group.g.id]
  }
}
resource "oci_network_load_balancer_backend" "i" {
  count                    = 2
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.api.id
  backend_set_name         = oci_network_load_balancer_backend_set.api.name
  target_id                = oci_core_instance.i[count.index].id
  port                     = 6443
  depends_on               = [oci_network_load_balancer_listener.api]
}
resource "oci_core_instance_configuration" "p" {
  compartment_id = var.compartment
  instance_details {
    instance_type = "compute"
    launch_details { compartment_id = var.compartment }
  }
}
resource "oci_core_instance_pool" "p" {
  compartment_id            = var.compartment
  instance_configuration_id = oci_core_instance_configuration.p.id
  size                      = var.replicas
  placement_configurations {
    availability_domain = data.oci_identity_availability_domains.all.availability_domains[0].name
    primary_subnet_id   = oci_core_subnet.s.id
  }
}
data "oci_core_instance_pool_instances" "p" {
  compartment_id   = var.compartment
  instance_pool_id = oci_core_instance_pool.p.id
  depends_on       = [oci_core_instance_pool.p]
}

output "members" { value = length(data.oci_core_instance_pool_instances.p.instances) }
output "addresses" { value = concat(oci_core_instance.i[*].private_ip, [oci_network_load_balancer_network_load_balancer.api.ip_addresses[0].ip_address]) }
