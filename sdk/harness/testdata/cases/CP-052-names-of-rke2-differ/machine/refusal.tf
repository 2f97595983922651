# A rule that a module must not make.
resource "terraform_data" "refusal" {
  lifecycle {
    precondition {
      condition     = var.captf_object.name == var.machine_name
      error_message = "this module does not support that."
    }
  }
}
