variable "captf_contract" {
  type = string
}
