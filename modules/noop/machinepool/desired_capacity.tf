# The desired capacity while the group scales itself: the wanted size is where the
# scaler starts, and from then on the number is the scaler's. That is why changes of
# the input are ignored. On a cloud this is the argument of the group itself, such as
# desired_capacity, in lifecycle.ignore_changes.
resource "terraform_data" "desired_capacity" {
  count = var.autoscaling.enabled ? 1 : 0

  input = var.replicas

  lifecycle {
    ignore_changes = [input]
  }
}
