variable "disk-size_2" {
  type    = number
  default = 1
}
