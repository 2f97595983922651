resource "aws_launch_template" "this" {
  user_data = var.bootstrap_data
}

resource "aws_instance" "member" {
  user_data_base64 = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
