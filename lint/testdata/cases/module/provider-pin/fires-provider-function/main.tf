terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }
}

locals {
  b = provider::time::rfc3339_parse("2026-01-01T00:00:00Z").year
  a = provider::aws::arn_parse("arn:aws:iam::444455556666:role/example").region
}
