module "instance" {
  source = "./instance"
}

data "http" "healthz" {
  url = "https://${module.instance.address}:6443/healthz"

  retry {
    attempts = 100
  }
}

locals {
  address = data.http.healthz.status_code == 200 ? module.instance.address : null
}

resource "oci_network_load_balancer_backend" "api" {
  ip_address = local.address
  port       = 6443
}
