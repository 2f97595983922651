variable "captf_tags" {
  type = map(string)
}

module "node" {
  source = "./node"
  labels = { for k, v in var.captf_tags : replace(k, "/", "_") => v }
}
