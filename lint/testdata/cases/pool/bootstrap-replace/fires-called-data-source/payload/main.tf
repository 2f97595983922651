variable "content" {
  type      = string
  sensitive = true
}

data "cloudinit_config" "this" {
  part {
    content = var.content
  }
}

output "rendered" {
  value     = data.cloudinit_config.this.rendered
  sensitive = true
}
