terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

resource "aws_iam_role" "r" {
  name               = join("", [for i in range(65) : "x"])
  assume_role_policy = "{}"
}
