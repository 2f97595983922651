data "terraform_remote_state" "x" {
  backend = "local"
  lifecycle {
    postcondition {
      condition     = data.terraform_remote_state.x.outputs != null
      error_message = "Itself."
    }
  }
}
ephemeral "terraform_data" "y" {
  lifecycle {
    create_before_destroy = true
  }
  provisioner "local-exec" {}
}
