variable "b" {
  type = string
}
