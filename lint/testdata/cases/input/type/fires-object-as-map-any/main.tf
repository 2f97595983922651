variable "captf_object" {
  type = map(any)
}
