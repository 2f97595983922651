resource "terraform_data" "name" {
  input = var.machine_name

  lifecycle {
    precondition {
      condition     = can(regex("^[a-z0-9-]+$", var.machine_name))
      error_message = "The cloud takes letters, digits and hyphens only."
    }
  }
}
