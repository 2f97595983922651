terraform {
  required_providers {
    k8s = {
      source  = "hashicorp/kubernetes"
      version = "2.38.0"
    }
  }
}

variable "control_plane_initialized" {
  type = bool
}

variable "addons" {
  type    = bool
  default = true
}

resource "helm_release" "cni" {
  count = var.addons ? 1 : 0
  name  = "cilium"
}

resource "k8s_namespace_v1" "system" {
  metadata {
    name = "system"
  }
}

data "kubectl_server_version" "this" {}
