terraform {
  required_providers {
    time = {
      source  = "hashicorp/time"
      version = "0.13.1"
    }
  }
}

locals {
  # provider::other::f() in a comment is no call.
  parsed = provider::time::rfc3339_parse("2026-01-01T00:00:00Z").year
  text   = "provider::text::f()"
}
