resource "aws_instance" "bastion" {
  ami = "ami-0123"
}

output "bastion" {
  value = aws_instance.bastion.public_ip
}
