# REPLACE: the load balancer's front with its address. None is made when somebody
# else provides the endpoint (CP-002). Its address must never change (CP-003).
resource "terraform_data" "api_frontend" {
  count = var.control_plane_endpoint == null ? 1 : 0

  input = {
    backend_id = terraform_data.api_backend.id
    host       = "${local.cluster_name}.invalid"
    port       = local.api_port
    tags       = var.captf_tags
  }
}
