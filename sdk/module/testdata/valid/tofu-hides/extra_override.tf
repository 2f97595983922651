variable "x" {
  description = "Both read this override."
}
