variable "captf_tags" {
  type = map(string)
}

module "node" {
  source  = "example/node/null"
  version = "1.0.0"
  tags    = var.captf_tags
}
