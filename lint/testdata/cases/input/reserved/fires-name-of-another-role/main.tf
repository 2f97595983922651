variable "captf_machine" {
  type = string
  default = ""
}
