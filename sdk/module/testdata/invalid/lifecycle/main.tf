resource "terraform_data" "a" {
  lifecycle {
    prevent_destroys = true
  }
}
resource "terraform_data" "b" {
  lifecycle {}
  lifecycle {}
}
resource "terraform_data" "c" {
  lifecycle {
    create_before_destroy = var.x
  }
}
resource "terraform_data" "d" {
  lifecycle {
    ignore_changes = ["*"]
  }
}
resource "terraform_data" "e" {
  lifecycle {
    replace_triggered_by = [var.x]
  }
}
resource "terraform_data" "f" {
  lifecycle {
    precondition {
      condition     = terraform_data.f.id != ""
      error_message = "Self."
    }
  }
}
variable "x" {}
