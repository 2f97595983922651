terraform {
  # What the module is tested with; raise it when you use newer syntax.
  required_version = ">= 1.5.0"

  required_providers {
    # One exact version: the image that runs this module mirrors exactly one.
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }
}
