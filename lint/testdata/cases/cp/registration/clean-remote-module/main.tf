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

module "attachment" {
  source  = "example/attachment/aws"
  version = "1.0.0"
}
