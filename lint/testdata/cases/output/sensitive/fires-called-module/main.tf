output "digest" {
  value = module.digest.sha
}

module "digest" {
  source = "./digest"
  text   = var.bootstrap_data
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
