variable "x" {
  type    = string
  default = "text"
}
variable "n" {
  type    = string
  default = null
}
