terraform {
  required_providers {
    kubernetes = {
      source  = "example/images"
      version = "1.0.0"
    }
  }
}

data "kubernetes_image" "node" {
  version = "v1.31.4"
}
