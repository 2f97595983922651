variable "control_plane" {
  type = bool
}

resource "kubernetes_labels" "node" {
  count       = var.control_plane ? 0 : 1
  api_version = "v1"
  kind        = "Node"
}
