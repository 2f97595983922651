variable "region" {
  type    = string
  default = null
}
