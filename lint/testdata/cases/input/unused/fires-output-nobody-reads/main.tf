variable "node_labels" {
  type = map(string)
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "failure_domains" {
  type = list(string)
}

module "node" {
  source = "./node"
  k8s    = var.kubernetes_version
  zones  = var.failure_domains
}

locals {
  unread = module.node.zones
}

resource "terraform_data" "group" {
  input      = module.node.id
  depends_on = [module.node]
}

# No contract output, so the generated root does not read it.
output "dbg" {
  value = var.node_labels
}
