output "health" {
  value = module.node.health
}

module "node" {
  source = "./node"
  state  = "up"
}
