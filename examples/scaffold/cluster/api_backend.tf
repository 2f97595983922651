# REPLACE: the set of servers behind the endpoint, such as a target group or a
# backend pool, and with it the network and the firewalls. It starts empty: the machine
# module attaches each control-plane machine (CP-026, CP-030).
resource "terraform_data" "api_backend" {
  input = {
    name = local.cluster_name
    port = local.api_port
    tags = var.captf_tags
  }
}
