# A rule that a module must not make.
resource "terraform_data" "refusal" {
  lifecycle {
    precondition {
      condition     = length(regexall("[+]", coalesce(var.kubernetes_version, "v0"))) == 0
      error_message = "this module does not support that."
    }
  }
}
