module "network" {
  source = "../../shared"
}
