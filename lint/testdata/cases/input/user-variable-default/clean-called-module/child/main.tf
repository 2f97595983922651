variable "zone" {
  type = string
}
