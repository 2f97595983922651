terraform {
  required_providers {
    aws = {
      source  = "example/aws"
      version = "1.0.0"
    }
    added = {
      source = "example/added"
    }
  }
}
provider "aws" {
  alias      = "other"
  access_key = ""
}
provider "new" {
  token = "x"
}
