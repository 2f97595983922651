# REPLACE: the desired capacity of the group, an argument that must be in
# lifecycle.ignore_changes. The wanted size is where the scaler starts, and from then on the
# number is the scaler's.
resource "terraform_data" "desired_capacity" {
  count = var.autoscaling.enabled ? 1 : 0

  input = var.replicas

  lifecycle {
    ignore_changes = [input]
  }
}
