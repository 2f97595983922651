provider "example" {
  token      = var.token
  password   = ""
  api_key    = "${var.token}"
  secret     = null
  tokens     = "abc"
  client_key = file("x")
}

variable "token" {
  type    = string
  default = ""
}
