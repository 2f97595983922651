variable "x" {
  type    = number
  default = "many"
}
variable "y" {
  type    = object({ a = string })
  default = {}
}
