variable "captf_tags" {
  type = object({ owner = string })
}
