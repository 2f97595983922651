module "member" {
  source = "./member"
  text   = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
