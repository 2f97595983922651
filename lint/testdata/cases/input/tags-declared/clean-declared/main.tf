variable "captf_tags" {
  type = map(string)
}
