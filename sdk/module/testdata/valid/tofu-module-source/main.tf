module "m" {
  source = "./tf"
}
