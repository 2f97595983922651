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
  count  = 1
  labels = var.node_labels
  zones  = var.failure_domains
}

resource "terraform_data" "group" {
  input = module.node[0].labels
}

output "health" {
  value = { state = join(",", module.node[*].zones) }
}

output "other" {
  value = 1

  precondition {
    condition     = var.kubernetes_version != "1.0"
    error_message = "Too old."
  }
}
