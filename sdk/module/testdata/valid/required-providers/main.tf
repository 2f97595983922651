terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0, < 7.0"
    }
    short = {
      source = "short"
    }
    mine = {
      source                = "example.invalid:8443/team/mine"
      configuration_aliases = [mine.a, mine.b]
    }
    old = "~> 1.0"
  }
}
provider "aws" {
  region = "eu-central-1"
  assume_role {
    role_arn = "x"
  }
}
provider "aws" {
  alias      = "other"
  access_key = "literal"
}
resource "aws_instance" "a" {
  provider = aws.other
  dynamic "ebs_block_device" {
    for_each = [1]
    iterator = disk
    content {
      volume_size = disk.value
    }
  }
}
