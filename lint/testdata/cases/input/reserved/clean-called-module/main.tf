module "child" {
  source     = "./child"
  captf_zone = "a"
}
