locals {
  rke2_version = "v1.31.4+rke2r1"
}

resource "aws_elb" "api" {
  listener {
    lb_port       = 6443
    instance_port = 6443
  }
}
