resource "aws_lb_target_group" "api" {
  port = 6443
}

output "exports" {
  value = { target_group_arn = aws_lb_target_group.api.arn }
}
