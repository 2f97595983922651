variable "control_plane" {
  type = bool
}

variable "subnet_id" {
  type = string
}

resource "aws_instance" "node" {
  subnet_id = var.subnet_id
}
