resource "terraform_data" "tags" {
  input = var.captf_tags

  lifecycle {
    precondition {
      condition     = alltrue([for value in values(var.captf_tags) : value != ""])
      error_message = "The cloud takes no empty tag."
    }
  }
}
