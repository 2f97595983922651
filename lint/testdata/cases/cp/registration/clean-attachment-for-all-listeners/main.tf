variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "control_plane" {
  type = bool
}

resource "aws_instance" "node" {
  subnet_id = var.captf_cluster_outputs.subnet_id
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = var.control_plane ? var.captf_cluster_outputs.api.target_groups : {}
  target_group_arn = each.value.arn
  target_id        = aws_instance.node.id
}
