variable "x" {
  type = string
  type = number
}
