terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

resource "aws_vpc" "v" { cidr_block = "10.1.0.0/16" }
resource "aws_internet_gateway" "a" { vpc_id = aws_vpc.v.id }
resource "aws_internet_gateway" "b" {
  vpc_id     = aws_vpc.v.id
  depends_on = [aws_internet_gateway.a]
}
