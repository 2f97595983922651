resource "aws_instance" "control_plane" {
  count = 3
}

resource "aws_elb" "api" {
  name      = "api"
  instances = aws_instance.control_plane[*].id
}
