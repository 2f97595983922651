# The payload waits in the cluster's bucket, and user data only says where: a pool's payload
# is rewritten every few minutes, and must change nothing but this object (CP-061). As user
# data each rotation would be a version of the launch template, of which there can be 10,000.

locals {
  # Base64 of gzip begins with these letters.
  packed = nonsensitive(startswith(var.bootstrap_data, "H4sI"))

  object_key = "pool/${var.captf_object.namespace}/${var.captf_object.name}"
  object_url = try("s3://${local.exports.bootstrap_bucket}/${local.object_key}", null)

  # Labels that a kubelet may not give itself would keep it from starting: those of
  # kubernetes.io and k8s.io, but for a few.
  label_domains = { for key in keys(var.node_labels) : key => length(split("/", key)) > 1 ? split("/", key)[0] : "" }
  refused_labels = sort([
    for key, domain in local.label_domains : key
    if can(regex("(^|\\.)(kubernetes|k8s)\\.io$", domain)) && !can(regex("(^|\\.)(kubelet|node)\\.kubernetes\\.io$", domain)) && !contains(local.kubelet_labels, key)
  ])
  kubelet_labels = [
    "kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
  ]
  node_labels = [for key in sort(keys(var.node_labels)) : "${key}=${var.node_labels[key]}" if !contains(local.refused_labels, key)]

  fetch = {
    cloud-config = templatefile("${path.module}/templates/fetch.sh.tftpl", { url = local.object_url, region = local.exports.region, labels = local.node_labels })
    ignition     = jsonencode({ ignition = { version = "3.0.0", config = { replace = { source = local.object_url } } } })
  }
}

resource "aws_s3_object" "bootstrap" {
  bucket         = local.exports.bootstrap_bucket
  key            = local.object_key
  content_base64 = var.bootstrap_data
  tags           = var.captf_tags # an object has at most 10 tags
}
