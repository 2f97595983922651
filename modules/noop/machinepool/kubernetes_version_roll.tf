# Replaced whenever the Kubernetes version changes, build metadata included: the
# marker that a real module names in replace_triggered_by of its launch template, so
# that a new version, and nothing else, rolls the members (CP-062).
resource "terraform_data" "kubernetes_version_roll" {
  triggers_replace = var.kubernetes_version
}
