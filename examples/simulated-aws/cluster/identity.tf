# What nodes may do in the account, and where their bootstrap data waits for them: only
# control-plane nodes can read what control-plane nodes get, which holds the cluster's keys.

data "aws_partition" "current" {}

locals {
  roles = {
    control_plane = { name = "${local.prefix}-control-plane", prefixes = ["control-plane/*"] }
    worker        = { name = "${local.prefix}-worker", prefixes = ["worker/*", "pool/*"] }
  }

  # What the cloud controller manager and the volume driver need beside it.
  cloud_controller_actions = [
    "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeLaunchConfigurations", "autoscaling:DescribeTags",
    "ec2:AttachVolume", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateSecurityGroup", "ec2:CreateTags", "ec2:CreateVolume",
    "ec2:DeleteSecurityGroup", "ec2:DeleteVolume", "ec2:DetachVolume", "ec2:ModifyInstanceAttribute", "ec2:ModifyVolume",
    "ec2:RevokeSecurityGroupIngress", "elasticloadbalancing:*", "iam:CreateServiceLinkedRole", "kms:DescribeKey",
  ]
  node_actions = ["ec2:Describe*", "ecr:GetAuthorizationToken", "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
}

resource "aws_iam_role" "node" {
  for_each = local.roles

  name = each.value.name
  path = "/captf/"
  tags = merge(local.tags, { Name = each.value.name })

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.${data.aws_partition.current.dns_suffix}" }
    }]
  })
}

resource "aws_iam_role_policy" "node" {
  for_each = local.roles

  name = "node"
  role = aws_iam_role.node[each.key].name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = concat(local.node_actions, each.key == "control_plane" ? local.cloud_controller_actions : []), Resource = ["*"] },
      { Effect = "Allow", Action = ["s3:GetObject"], Resource = [for prefix in each.value.prefixes : "${aws_s3_bucket.bootstrap.arn}/${prefix}"] },
    ]
  })
}

resource "aws_iam_instance_profile" "node" {
  for_each = local.roles

  name = each.value.name
  path = "/captf/"
  role = aws_iam_role.node[each.key].name
  tags = merge(local.tags, { Name = each.value.name })
}

resource "aws_s3_bucket" "bootstrap" {
  bucket_prefix = "captf-bootstrap-"
  force_destroy = true
  tags          = merge(local.tags, { Name = "${local.prefix}-bootstrap" })
}

resource "aws_s3_bucket_public_access_block" "bootstrap" {
  bucket                  = aws_s3_bucket.bootstrap.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}
