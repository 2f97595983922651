resource "terraform_data" "port" {
  input = var.captf_cluster_outputs.subnet_id
}
