variable "captf_zone" {
  type = string
}
