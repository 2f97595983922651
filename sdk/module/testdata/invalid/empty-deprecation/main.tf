variable "x" {
  deprecated = " "
}
