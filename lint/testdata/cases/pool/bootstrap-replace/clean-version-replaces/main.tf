resource "terraform_data" "version" {
  input            = sha256(var.bootstrap_data)
  triggers_replace = var.kubernetes_version
}

resource "terraform_data" "member" {
  lifecycle {
    replace_triggered_by = [terraform_data.version.id]
  }
}

variable "kubernetes_version" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
