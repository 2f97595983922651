# Replaced whenever the Kubernetes version changes: name this marker in replace_triggered_by of
# the launch configuration, so that a new version, and nothing else, rolls the members (CP-062).
resource "terraform_data" "kubernetes_version_roll" {
  triggers_replace = var.kubernetes_version
}
