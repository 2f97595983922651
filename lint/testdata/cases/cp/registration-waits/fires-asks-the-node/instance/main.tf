resource "oci_core_instance" "node" {
  display_name = "node"
}

output "address" {
  value = oci_core_instance.node.private_ip
}
