resource "terraform_data" "group" {
  input = {
    object       = var.captf_object
    bootstrap    = sha256(nonsensitive(var.bootstrap_data))
    version_roll = terraform_data.kubernetes_version_roll.id
  }
}

locals {
  generated_ids = [for index in range(var.replicas) : "noop:///${var.captf_object.namespace}/${var.captf_object.name}/${index}"]
}

output "replicas" {
  value = var.replicas
}
