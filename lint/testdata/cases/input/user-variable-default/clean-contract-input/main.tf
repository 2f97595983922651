variable "machine_name" {
  type = string
}

variable "captf_whatever" {
  type = string
}
