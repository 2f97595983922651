ephemeral "terraform_data" "x" {
  count = 1
  input = var.x
  lifecycle {
    postcondition {
      condition     = self.id != ""
      error_message = "Empty."
    }
  }
}
variable "x" {}
