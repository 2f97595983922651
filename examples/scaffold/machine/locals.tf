locals {
  # Clouds limit names, and a Machine's name is unique in its namespace only: cut it, and
  # append a hash of both so that no two instances share a name (CP-051, CP-053). The name
  # of the object may differ from the Machine's (CP-052).
  machine_key   = "${var.captf_object.namespace}/${var.machine_name}"
  instance_name = "${trimsuffix(substr(var.machine_name, 0, 54), "-")}-${substr(sha256(local.machine_key), 0, 8)}"

  # REPLACE: the address that the cloud assigned. Until then the name's hash picks one
  # of the 131070 hosts of 198.18.0.0/15, a range that is reserved for benchmarks.
  address = cidrhost("198.18.0.0/15", parseint(substr(sha256(local.machine_key), 0, 8), 16) % 131070 + 1)

  # Images are looked up without build metadata: v1.31.4+rke2r1 boots the image of v1.31.4
  # (CP-050).
  image = var.kubernetes_version == null ? null : "kubernetes-${split("+", var.kubernetes_version)[0]}"

  # What the cluster module exports. A worker needs nothing of it, so a missing key is left
  # to the precondition of the resource that needs it.
  backend_id = try(var.captf_cluster_outputs.backend_id, null)
}
