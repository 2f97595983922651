locals {
  # A name of the Machine is unique in its namespace only, so every derived value
  # starts from both. The Terraform object may be named differently (CP-052).
  machine_key = "${var.captf_object.namespace}/${var.machine_name}"

  # Unique and stable without a cloud: the name's hash picks one of the 131070
  # host addresses of 198.18.0.0/15, a range reserved for benchmarks (RFC 2544)
  # that no real node has.
  address = cidrhost("198.18.0.0/15", parseint(substr(sha256(local.machine_key), 0, 8), 16) % 131070 + 1)

  # Images are looked up without the build metadata: v1.31.4+rke2r1 boots the
  # image of v1.31.4 (CP-050).
  image = var.kubernetes_version == null ? null : "noop-kubernetes-${split("+", var.kubernetes_version)[0]}"
}
