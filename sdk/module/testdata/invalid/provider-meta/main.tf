terraform {
  provider_meta "x" {
    a = var.a
  }
}
variable "a" {}
