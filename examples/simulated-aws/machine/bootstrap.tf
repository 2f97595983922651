# The payload goes to the instance unchanged (CP-047). User data holds 16 KiB and is read by
# whoever may describe instances, and by every pod that reaches the metadata service. So
# what is larger, and what a control-plane machine gets, which holds the cluster's keys
# (CP-049), waits in the cluster's bucket; user data then only says where.

locals {
  user_data_limit = 16384 # bytes, before AWS encodes them

  # Its length gives nothing of a payload away.
  payload_bytes = floor(nonsensitive(length(var.bootstrap_data)) * 3 / 4)
  staged        = var.control_plane || local.payload_bytes > local.user_data_limit

  # Base64 of gzip begins with these letters.
  packed = nonsensitive(startswith(var.bootstrap_data, "H4sI"))

  object_key = "${var.control_plane ? "control-plane" : "worker"}/${var.captf_object.namespace}/${var.captf_object.name}"
  object_url = try("s3://${local.exports.bootstrap_bucket}/${local.object_key}", null)

  fetch = {
    cloud-config = templatefile("${path.module}/templates/fetch.sh.tftpl", { url = local.object_url, region = local.exports.region })
    ignition     = jsonencode({ ignition = { version = "3.0.0", config = { replace = { source = local.object_url } } } })
  }

  user_data = local.staged ? base64encode(local.fetch[var.bootstrap_format]) : var.bootstrap_data
}

resource "aws_s3_object" "bootstrap" {
  count = local.staged ? 1 : 0

  bucket         = local.exports.bootstrap_bucket
  key            = local.object_key
  content_base64 = var.bootstrap_data
  tags           = var.captf_tags # an object has at most 10 tags
}
