variable "replicas" {
  type = number
}
