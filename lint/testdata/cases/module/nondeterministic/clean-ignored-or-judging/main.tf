resource "terraform_data" "node" {
  input = timestamp()

  lifecycle {
    ignore_changes = [input]

    precondition {
      condition     = timecmp(timestamp(), var.not_before) > 0
      error_message = "The clock is wrong."
    }
  }
}

variable "not_before" {
  type    = string
  default = "2026-01-01T00:00:00Z"
}

locals {
  id = uuidv5("dns", "example.com")
}
