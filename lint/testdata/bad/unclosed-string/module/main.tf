variable "a" {
  description = "x
}
