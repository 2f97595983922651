resource "aws_instance" "member" {
  user_data_base64            = var.bootstrap_data
  user_data_replace_on_change = true
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
