variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "control_plane" {
  type = bool
}

resource "vsphere_virtual_machine" "node" {
  name = "node"
}
