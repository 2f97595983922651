variable "captf_tags" {
  type = map(string)
}

locals {
  tags = merge(var.captf_tags, { role = "node" })
  all  = [for k, v in local.tags : "${k}=${v}"]
}

resource "terraform_data" "node" {
  input = local.all
}
