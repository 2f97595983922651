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

# Replaced whenever the Kubernetes version changes, build metadata included, or the image
# that the user names: that replaces the launch template, and with it the members (CP-062).
resource "terraform_data" "kubernetes_version_roll" {
  triggers_replace = [var.kubernetes_version, var.image.id]
}

resource "aws_launch_template" "pool" {
  name_prefix            = "${local.name}-"
  description            = "Members of a pool of Kubernetes nodes."
  update_default_version = true
  image_id               = local.image_id
  instance_type          = var.instance_type
  key_name               = var.ssh_key_name
  user_data              = base64encode(local.fetch[var.bootstrap_format])
  tags                   = merge(local.tags, local.owned, { Name = local.name })

  iam_instance_profile {
    name = local.exports.instance_profile
  }

  # Tokens only, and not from pods.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  network_interfaces {
    device_index                = 0
    associate_public_ip_address = tostring(var.public_ip)
    security_groups             = local.exports.security_group_ids
    delete_on_termination       = "true"
  }

  block_device_mappings {
    device_name = var.image.root_device

    ebs {
      volume_type           = "gp3"
      volume_size           = var.root_volume_size_gib
      encrypted             = "true"
      delete_on_termination = "true"
    }
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? ["spot"] : []

    content {
      market_type = "spot"
    }
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]

    content {
      resource_type = tag_specifications.value
      tags          = merge(local.tags, local.owned, { Name = local.name })
    }
  }

  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [terraform_data.kubernetes_version_roll]

    precondition {
      condition     = length(local.missing) == 0
      error_message = "The exports of the cluster lack ${join(", ", local.missing)}; for an externally managed cluster set external_cluster_exports in spec.variables."
    }

    precondition {
      condition     = local.image_id != null
      error_message = "image: owner ${var.image.owner} has no available image ${local.image_name} for ${var.image.architecture}."
    }

    precondition {
      condition     = !(var.bootstrap_format == "ignition" && (local.packed || length(local.node_labels) > 0))
      error_message = "bootstrap_data for Ignition must not be packed with gzip, and a pool with node_labels needs cloud-config."
    }
  }
}

# Counted, so that a group which is gone reads as an empty list instead of something unknown.
resource "aws_autoscaling_group" "pool" {
  count = 1

  name                      = local.name
  min_size                  = var.autoscaling.enabled ? var.autoscaling.min : var.replicas
  max_size                  = var.autoscaling.enabled ? var.autoscaling.max : var.replicas
  desired_capacity          = var.autoscaling.enabled ? max(var.autoscaling.min, min(var.autoscaling.max, var.replicas)) : var.replicas
  vpc_zone_identifier       = [for zone in local.zones : local.exports.subnet_ids[zone] if !contains(local.unserved, zone)]
  health_check_type         = "EC2"
  suspended_processes       = ["AZRebalance"] # would take members away undrained
  wait_for_capacity_timeout = "0"             # the first Node joins after the apply (CP-064)
  capacity_rebalance        = var.spot

  launch_template {
    id      = aws_launch_template.pool.id
    version = "$Latest"
  }

  # Another launch template, which only a new version brings, replaces the members, each
  # after its successor has come.
  instance_refresh {
    strategy = "Rolling"

    preferences {
      min_healthy_percentage = 100
      max_healthy_percentage = 200
      instance_warmup        = tostring(var.rollout_instance_warmup_seconds)
    }
  }

  # Members get their tags from the launch template.
  dynamic "tag" {
    for_each = merge(local.tags, local.owned, { Name = local.name })

    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = false
    }
  }

  lifecycle {
    # The number is the scaler's. Without one, minimum and maximum move it.
    ignore_changes = [desired_capacity]

    precondition {
      condition     = length(local.unserved) == 0
      error_message = "failure_domains: the cluster has no subnet in ${join(", ", local.unserved)}."
    }
  }

  depends_on = [aws_s3_object.bootstrap]
}

resource "aws_autoscaling_policy" "cpu" {
  count = var.autoscaling.enabled ? 1 : 0

  name                   = "captf-cpu-target-tracking"
  autoscaling_group_name = one(aws_autoscaling_group.pool[*].name)
  policy_type            = "TargetTrackingScaling"

  target_tracking_configuration {
    target_value = var.autoscaling_target_cpu_percent

    predefined_metric_specification {
      predefined_metric_type = "ASGAverageCPUUtilization"
    }
  }
}
