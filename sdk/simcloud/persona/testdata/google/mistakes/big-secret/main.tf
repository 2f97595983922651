terraform {
  required_providers {
    google = { source = "hashicorp/google" }
  }
}

resource "google_secret_manager_secret_version" "s" {
  secret      = "projects/demo/secrets/s"
  secret_data = join("", [for i in range(1000) : join("", [for k in range(10) : "0123456789"])])
}
