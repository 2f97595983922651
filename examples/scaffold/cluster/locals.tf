locals {
  # Clouds limit names, and a Cluster's name is unique in its namespace only: cut it,
  # and append a hash of both so that no two clusters share a name.
  cluster_key  = "${var.captf_cluster.namespace}/${var.captf_cluster.name}"
  cluster_name = "${trimsuffix(substr(var.captf_cluster.name, 0, 40), "-")}-${substr(sha256(local.cluster_key), 0, 8)}"

  # Port of the API on the endpoint and on the control-plane nodes.
  api_port = coalesce(try(var.cluster_network.api_server_port, null), 6443)
}
