locals {
  key = "boot"
  all = {
    boot = sha256(var.bootstrap_data)
    v    = var.kubernetes_version
  }
  computed = {
    (var.kubernetes_version) = "a"
    boot                     = sha256(var.bootstrap_data)
  }
}

resource "terraform_data" "named" {
  triggers_replace = local.all.boot
}

resource "terraform_data" "whole" {
  triggers_replace = local.all
}

resource "terraform_data" "by_key" {
  triggers_replace = local.all[local.key]
}

resource "terraform_data" "maybe" {
  triggers_replace = local.computed["boot"]
}

resource "terraform_data" "both" {
  input = { boot = var.bootstrap_data, v = var.kubernetes_version }
}

resource "terraform_data" "output" {
  triggers_replace = terraform_data.both.output.boot
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "kubernetes_version" {
  type    = string
  default = null
}
