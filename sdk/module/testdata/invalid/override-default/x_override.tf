variable "x" {
  type = number
}
variable "n" {
  nullable = false
}
