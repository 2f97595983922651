terraform {
  required_version = ">= 1.2"
}

check "x" {
  assert {
    condition     = terraform_data.x.id != ""
    error_message = "never"
  }
}

resource "terraform_data" "x" {}
