variable "a" {
  type = strng
}
