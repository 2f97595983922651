variable "size" {
  type    = string
  default = "s"
}
