variable "captf_region" {
  type = string
}
