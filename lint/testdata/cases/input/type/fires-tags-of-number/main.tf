variable "captf_tags" {
  type = map(number)
}
