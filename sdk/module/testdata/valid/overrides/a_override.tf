variable "size" {
  type    = bool
  default = true
}
variable "secret" {
  sensitive = true
  default   = "x"
  nullable  = false
}
