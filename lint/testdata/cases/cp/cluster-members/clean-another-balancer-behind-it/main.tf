resource "aws_lb" "inner" {
  load_balancer_type = "application"
}

resource "aws_lb_target_group_attachment" "inner" {
  target_group_arn = aws_lb_target_group.outer.arn
  target_id        = aws_lb.inner.arn
}

resource "aws_lb_target_group" "outer" {
  target_type = "alb"
}
