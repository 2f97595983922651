variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "control_plane" {
  type = bool
}

module "instance" {
  source        = "./instance"
  control_plane = var.control_plane
  subnet_id     = var.captf_cluster_outputs.subnet_id
}
