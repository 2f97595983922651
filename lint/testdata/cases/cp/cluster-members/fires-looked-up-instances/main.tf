data "aws_instances" "control_plane" {
  instance_tags = {
    role = "control-plane"
  }
}

locals {
  members = toset(data.aws_instances.control_plane.ids)
}

resource "aws_lb_target_group" "api" {
  port = 6443
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = local.members
  target_group_arn = aws_lb_target_group.api.arn
  target_id        = each.value
}
