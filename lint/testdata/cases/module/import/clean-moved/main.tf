resource "terraform_data" "network" {}

moved {
  from = terraform_data.net
  to   = terraform_data.network
}

variable "network_id" {
  type    = string
  default = null
}
