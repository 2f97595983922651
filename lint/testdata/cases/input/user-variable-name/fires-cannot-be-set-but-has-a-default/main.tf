variable "größe" {
  type    = string
  default = "klein"
}
