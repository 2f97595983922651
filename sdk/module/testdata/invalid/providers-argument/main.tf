module "m" {
  source = "./m"
  providers = {
    terraform   = terraform
    "terraform" = terraform
  }
}
