locals {
  all = merge({
    boot = sha256(var.bootstrap_data)
    v    = var.kubernetes_version
  }, { zone = "a" })
  nested = { in = local.all }
}

resource "terraform_data" "member" {
  triggers_replace = [local.all.v, local.nested["in"].v, module.part.all.v, terraform_data.both.output.v]
}

resource "terraform_data" "both" {
  input = { boot = var.bootstrap_data, v = var.kubernetes_version }
}

module "part" {
  source = "./part"
  all    = local.all
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "kubernetes_version" {
  type    = string
  default = null
}
