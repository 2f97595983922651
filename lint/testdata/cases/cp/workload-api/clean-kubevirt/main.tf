resource "kubernetes_manifest" "node" {
  manifest = {
    apiVersion = "kubevirt.io/v1"
    kind       = "VirtualMachine"
  }
}
