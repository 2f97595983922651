terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

resource "aws_lb_target_group" "t" {
  name     = "a-name-of-more-than-thirty-two-characters"
  port     = 6443
  protocol = "TCP"
  vpc_id   = "vpc-1"
}
