locals {
  payload  = base64decode(var.bootstrap_data)
  rendered = data.cloudinit_config.member.rendered
}

data "cloudinit_config" "member" {
  gzip = false

  part {
    content_type = "text/cloud-config"
    content      = local.payload
  }
}

resource "hcloud_server" "member" {
  count     = 3
  name      = "member-${count.index}"
  user_data = local.rendered
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
