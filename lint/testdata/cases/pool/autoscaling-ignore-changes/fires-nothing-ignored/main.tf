variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

resource "aws_autoscaling_group" "this" {
  desired_capacity = 1
  min_size         = var.autoscaling.min
  max_size         = var.autoscaling.max

  lifecycle {
    ignore_changes = [tag]
  }
}
