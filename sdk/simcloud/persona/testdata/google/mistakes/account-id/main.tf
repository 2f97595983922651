terraform {
  required_providers {
    google = { source = "hashicorp/google" }
  }
}

resource "google_service_account" "a" { account_id = "a-name-that-has-more-than-thirty-characters" }
