variable "x" {
  nullable = false
  default  = null
}
