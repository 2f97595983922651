output "control_plane_endpoint" {
  value = module.lb.endpoint
}

module "lb" {
  source = "./lb"
}
