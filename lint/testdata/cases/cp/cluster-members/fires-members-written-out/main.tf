resource "google_compute_target_pool" "api" {
  name      = "api"
  instances = ["zone-a/one", "zone-b/two"]
}
