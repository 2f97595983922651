variable "hostname" {
  type    = string
  default = "node"
}

output "addresses" {
  value = concat(
    [{ type = "ExternalIP", address = google_compute_instance.node.id }],
    var.hostname == "" ? [] : [{ type = "Hostname", address = var.hostname }],
  )
}

resource "google_compute_instance" "node" {
  name = "node"
}
