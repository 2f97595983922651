module "up" {
  source = "../elsewhere"
}
module "far" {
  source = "./modules/../../elsewhere"
}
