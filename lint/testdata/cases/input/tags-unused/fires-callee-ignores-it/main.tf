variable "captf_tags" {
  type = map(string)
}

module "node" {
  source = "./node"
  tags   = var.captf_tags
}
