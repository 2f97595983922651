variable "größe" {
  type = string
}
