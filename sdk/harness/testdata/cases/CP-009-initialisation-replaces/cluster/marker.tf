resource "terraform_data" "marker" {
  triggers_replace = var.control_plane_initialized
}
