variable "replicas" {
  type = string
}
