terraform {
  required_version = ">= 1.2, < 1.5.0"
}

locals {
  a = strcontains("a", "b")
}
