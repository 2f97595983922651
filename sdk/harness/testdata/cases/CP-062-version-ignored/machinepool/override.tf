resource "terraform_data" "kubernetes_version_roll" {
  triggers_replace = "never"
}

resource "terraform_data" "group" {
  input = {
    object    = var.captf_object
    tags      = var.captf_tags
    replicas  = local.size
    bootstrap = nonsensitive(sha256(var.bootstrap_data))
  }
}
