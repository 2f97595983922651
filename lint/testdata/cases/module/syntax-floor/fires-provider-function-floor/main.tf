terraform {
  required_version = ">= 1.7.0"
}

locals {
  year = provider::time::rfc3339_parse("2026-01-01T00:00:00Z").year
}
