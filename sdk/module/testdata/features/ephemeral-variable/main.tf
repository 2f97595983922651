variable "x" {
  ephemeral = true
}
