# A listing never fails: an image that is gone does not stop a destroy.
data "aws_ami_ids" "image" {
  count = var.image.id == null ? 1 : 0

  owners             = [var.image.owner]
  include_deprecated = true

  filter {
    name   = "name"
    values = [local.image_name]
  }

  filter {
    name   = "architecture"
    values = [var.image.architecture]
  }

  filter {
    name   = "state"
    values = ["available"]
  }
}

locals {
  # The newest comes first.
  image_id = var.image.id != null ? var.image.id : try(data.aws_ami_ids.image[0].ids[0], null)
}

# Counted, so that an instance which is gone reads as an empty list instead of something unknown.
resource "aws_instance" "node" {
  count = 1

  ami                         = local.image_id
  instance_type               = var.instance_type
  availability_zone           = local.zone
  subnet_id                   = try(local.exports.subnet_ids[local.zone], null)
  vpc_security_group_ids      = local.exports.security_group_ids
  associate_public_ip_address = var.public_ip
  iam_instance_profile        = local.exports.instance_profile
  key_name                    = var.ssh_key_name
  user_data_base64            = local.user_data
  tags                        = merge(local.tags, local.owned, { Name = var.machine_name })

  # Tokens only, and not from pods.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.root_volume_size_gib
    encrypted             = true
    delete_on_termination = true
    tags                  = merge(local.tags, local.owned, { Name = var.machine_name })
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? ["spot"] : []

    content {
      market_type = "spot"

      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  depends_on = [aws_s3_object.bootstrap]

  lifecycle {
    # A machine is replaced, never changed: a newer image or a rewritten payload is for the next.
    ignore_changes = [ami, user_data_base64]

    precondition {
      condition     = length(local.missing) == 0
      error_message = "The exports of the cluster lack ${join(", ", local.missing)}; for an externally managed cluster set external_cluster_exports in spec.variables."
    }

    precondition {
      condition     = var.failure_domain == null || contains(local.zones, coalesce(var.failure_domain, "none"))
      error_message = "failure_domain ${coalesce(var.failure_domain, "null")} is none of the cluster: ${join(", ", local.zones)}."
    }

    precondition {
      condition     = !(var.spot && var.control_plane)
      error_message = "spot is for workers only: a control plane that AWS takes back loses its quorum."
    }

    precondition {
      condition     = !(var.bootstrap_format == "ignition" && local.packed)
      error_message = "bootstrap_data is packed with gzip, which Ignition cannot read as user data."
    }

    precondition {
      condition     = local.image_id != null
      error_message = "image: owner ${var.image.owner} has no available image ${local.image_name} for ${var.image.architecture}."
    }
  }
}

# Registered in the same apply, long before the node has booted (CP-030, CP-033), with the API
# and, if it is published, with RKE2's supervisor (CP-032). Destroyed before the instance
# (CP-036).
resource "aws_lb_target_group_attachment" "control_plane" {
  for_each = local.target_groups

  target_group_arn = each.value.arn
  target_id        = one(aws_instance.node[*].id)
  port             = each.value.port
}
