terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

resource "aws_instance" "i" {
  ami           = "ami-1"
  instance_type = "m7i.large"
  user_data     = join("", [for i in range(1000) : "01234567890123456789"])
}
