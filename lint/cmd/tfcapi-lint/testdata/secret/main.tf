provider "example" {
  password = "hunter2"
  auth     = { token = "hunter2" }
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
  default   = "hunter2"
}
