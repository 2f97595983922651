variable "control_plane_initialized" {
  type = bool
}

module "addons" {
  source = "./addons"
  ready  = true
}

module "later" {
  source = "./addons"
  ready  = var.control_plane_initialized
}
