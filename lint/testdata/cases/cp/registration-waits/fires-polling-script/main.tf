resource "google_compute_instance" "node" {
  name = "node"
}

resource "terraform_data" "joined" {
  input = google_compute_instance.node.id

  provisioner "local-exec" {
    command = <<-EOT
      until kubectl get node node; do sleep 5; done
    EOT
  }
}

resource "google_compute_instance_group_membership" "api" {
  instance       = terraform_data.joined.output
  instance_group = "api"
}
