variable "x" {
  type = strin
}
variable "y" {
  type = list(string, number)
}
variable "z" {
  type = set
}
