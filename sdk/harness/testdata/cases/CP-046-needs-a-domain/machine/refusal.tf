# A rule that a module must not make.
resource "terraform_data" "refusal" {
  lifecycle {
    precondition {
      condition     = var.failure_domain != null
      error_message = "this module does not support that."
    }
  }
}
