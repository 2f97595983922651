module "node" {
  source = "./node"
}
