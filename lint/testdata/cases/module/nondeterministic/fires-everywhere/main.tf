locals {
  name = "node-${uuid()}"
}

resource "terraform_data" "node" {
  input = {
    made = timestamp()
  }

  provisioner "local-exec" {
    command = "echo ${timestamp()}"
  }
}

resource "aws_instance" "node" {
  tags {
    at = plantimestamp()
  }
}

output "made" {
  value = bcrypt("x")
}
