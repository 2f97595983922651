variable "range" {
  type = any
}

resource "google_compute_instance_group_manager" "this" {
  target_size = var.range.min

  lifecycle {
    ignore_changes = [target_size]
  }
}
