data "kubectl_file_documents" "cni" {
  content = "kind: Namespace"
}

data "helm_template" "cni" {
  name = "cilium"
}
