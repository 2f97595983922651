# A rule that a module must not make.
resource "terraform_data" "refusal" {
  lifecycle {
    precondition {
      condition     = var.control_plane_initialized
      error_message = "this module does not support that."
    }
  }
}
