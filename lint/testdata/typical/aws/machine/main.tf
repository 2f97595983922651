variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "machine_name" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "failure_domain" {
  type    = string
  default = null
}

variable "control_plane" {
  type = bool
}

locals {
  exports = var.captf_cluster_outputs
  domains = sort(keys(local.exports.failure_domains))
  domain = coalesce(
    var.failure_domain,
    local.domains[parseint(substr(sha256(var.machine_name), 0, 8), 16) % length(local.domains)],
  )
}

data "aws_ami_ids" "node" {
  owners = ["self"]
}

resource "aws_s3_object" "bootstrap" {
  bucket         = local.exports.bootstrap_bucket
  key            = "${var.control_plane ? "control-plane" : "worker"}/${var.machine_name}"
  content_base64 = var.bootstrap_data
}

resource "aws_instance" "node" {
  ami               = data.aws_ami_ids.node.ids[0]
  availability_zone = local.domain
  subnet_id         = local.exports.failure_domains[local.domain].subnet_id
  user_data_base64  = base64encode("fetch ${aws_s3_object.bootstrap.key}")

  lifecycle {
    ignore_changes = [ami, user_data_base64]
  }
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = var.control_plane ? try(local.exports.api.target_groups, {}) : {}
  target_group_arn = each.value.arn
  target_id        = aws_instance.node.id
  port             = each.value.port
}

output "addresses" {
  value = [for a in [
    { type = "InternalIP", address = aws_instance.node.private_ip },
    { type = "InternalDNS", address = aws_instance.node.private_dns },
    { type = "ExternalIP", address = aws_instance.node.public_ip },
  ] : a if a.address != null && a.address != ""]
}

output "failure_domain" {
  value = try(aws_instance.node.availability_zone, var.failure_domain)
}
