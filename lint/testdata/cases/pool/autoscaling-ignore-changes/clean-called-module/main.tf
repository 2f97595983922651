variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}

module "group" {
  source = "./group"
  range  = var.autoscaling
}
