resource "terraform_data" "namespace" {
  input = var.captf_object.namespace

  lifecycle {
    precondition {
      condition     = var.captf_object.namespace == "default"
      error_message = "Only the namespace default is known here."
    }
  }
}
