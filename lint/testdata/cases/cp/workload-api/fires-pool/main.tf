data "kubernetes_nodes" "members" {}
