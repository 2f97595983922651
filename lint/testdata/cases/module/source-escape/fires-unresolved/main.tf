module "network" {
  source = "./missing"
}
