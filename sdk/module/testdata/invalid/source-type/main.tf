module "a" {
  source = { a = "./x" }
}
