variable "machine_name" {
  type = string
}
