terraform {
  required_version = "~> 1.7.0"
}

locals {
  a = provider::terraform::encode_expr(1)
}
