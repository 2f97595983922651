terraform {
  required_version = ">= 1.5"
}

data "terraform_remote_state" "other" {
  backend = "s3"
}
