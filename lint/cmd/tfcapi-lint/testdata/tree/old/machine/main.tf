variable "x" {
