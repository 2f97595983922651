resource "terraform_data" "instance" {
  input = {
    cluster        = var.captf_cluster
    object         = var.captf_object
    machine_name   = var.machine_name
    tags           = var.captf_tags
    failure_domain = var.failure_domain
  }
}
