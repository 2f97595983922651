variable "replicas" {
  type    = number
  default = 1
}
