variable "x" {
  type = "list"
}
