terraform {
  required_providers {
    google = { source = "hashicorp/google" }
  }
}

resource "google_compute_instance" "i" {
  name         = "Not_A_Name"
  machine_type = "n2-standard-4"
  boot_disk {
    initialize_params { image = "capi" }
  }
  network_interface { network = "default" }
}
