variable "autoscaling" {
  type = object({ enabled = bool, min = number, max = number })
}
