# A rule that a module must not make.
resource "terraform_data" "refusal" {
  lifecycle {
    precondition {
      condition     = length(var.machine_name) <= 63
      error_message = "this module does not support that."
    }
  }
}
