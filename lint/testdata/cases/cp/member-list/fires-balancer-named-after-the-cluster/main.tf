variable "captf_cluster" {
  type = object({
    name      = string
    namespace = string
  })
}

resource "aws_instance" "node" {
  ami = "ami-0123"
}

resource "aws_elb" "api" {
  name      = "${var.captf_cluster.name}-api"
  instances = [aws_instance.node.id]
}

resource "google_compute_target_pool" "api" {
  name      = "api"
  instances = ["zone-a/node"]
}
