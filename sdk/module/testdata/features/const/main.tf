variable "x" {
  default = "x"
  const   = true
}
