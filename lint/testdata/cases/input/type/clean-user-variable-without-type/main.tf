variable "region" {
  default = null
}
