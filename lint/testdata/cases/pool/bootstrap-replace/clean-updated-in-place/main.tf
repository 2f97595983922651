data "cloudinit_config" "member" {
  part {
    content = var.bootstrap_data
  }
}

resource "aws_launch_template" "member" {
  name      = "member"
  user_data = data.cloudinit_config.member.rendered
}

resource "terraform_data" "payload" {
  input = var.bootstrap_data
}

# An identifier stays when the payload is updated in place.
resource "terraform_data" "member" {
  triggers_replace = [terraform_data.payload.id, aws_launch_template.member.id, aws_launch_template.member.name]
}

# So does what is rendered from something else.
resource "hcloud_server" "member" {
  name      = data.cloudinit_config.member.rendered
  user_data = terraform_data.version.output
}

resource "terraform_data" "version" {
  input = var.kubernetes_version

  lifecycle {
    replace_triggered_by = [terraform_data.payload.id]
  }
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}
