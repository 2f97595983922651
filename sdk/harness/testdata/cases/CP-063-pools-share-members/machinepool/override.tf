locals {
  generated_ids = [for index in range(terraform_data.group.input.replicas) : "noop:///${var.captf_cluster.namespace}/${var.captf_cluster.name}/${index}"]
}
