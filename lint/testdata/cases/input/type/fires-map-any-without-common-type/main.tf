variable "autoscaling" {
  type = map(any)
}

