module "child" {
  source = "./child"
  zone   = "a"
}
