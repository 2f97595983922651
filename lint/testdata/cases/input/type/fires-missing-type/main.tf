variable "machine_name" {
  description = "Name of the machine."
}
