variable "captf_tags" {
  type = map(string)
}

data "aws_ami" "node" {
  tags = var.captf_tags
}
