variable "ready" {
  type = bool
}

resource "kubernetes_namespace_v1" "system" {
  count = var.ready ? 1 : 0
}
