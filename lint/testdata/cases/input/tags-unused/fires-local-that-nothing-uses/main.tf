variable "captf_tags" {
  type = map(string)
}

locals {
  tags = merge(var.captf_tags, { role = "node" })
  copy = local.tags
}
