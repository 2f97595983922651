resource "google_compute_instance_group" "api" {
  name      = "api"
  instances = ["zone-a/node"]

  lifecycle {
    ignore_changes = [instances]
  }
}

resource "aws_elb" "api" {
  name      = "api"
  instances = []
}
