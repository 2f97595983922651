terraform {
  required_version = ">= 1.2.0"
}

locals {
  a = startswith("a", "b")
  b = templatestring("a", {})
}
