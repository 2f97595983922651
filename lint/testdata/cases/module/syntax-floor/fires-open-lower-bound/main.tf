terraform {
  required_version = "> 1.4.9"
}

locals {
  a = strcontains("a", "b")
}
