module "self" {
  source = ".."
}
