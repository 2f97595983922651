data "kubernetes_nodes" "all" {}
