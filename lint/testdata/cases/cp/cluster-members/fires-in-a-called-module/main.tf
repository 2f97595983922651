data "google_compute_instance" "first" {
  name = "first"
}

module "group" {
  source    = "./group"
  instances = [data.google_compute_instance.first.self_link]
}
