terraform {
  required_version = ">= 1.5"
}

variable "captf_contract" {
  type = string
}

variable "captf_cluster" {
  type = object({
    name      = string
    namespace = string
  })
}

variable "captf_object" {
  type = object({
    kind      = string
    name      = string
    namespace = string
  })
}

variable "captf_tags" {
  type = map(string)
}

variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "machinepool_name" {
  type = string
}

variable "replicas" {
  type = number
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "bootstrap_format" {
  type = string
}

variable "failure_domains" {
  type = list(string)
}

variable "cluster_failure_domains" {
  type = list(string)
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "node_labels" {
  type = map(string)
}

variable "autoscaling" {
  type = object({
    enabled = bool
    min     = number
    max     = number
  })
}

resource "terraform_data" "version" {
  triggers_replace = var.kubernetes_version
}

resource "terraform_data" "group" {
  input = {
    bootstrap = sha256(var.bootstrap_data)
    domains   = length(var.failure_domains) > 0 ? var.failure_domains : var.cluster_failure_domains
    format    = var.bootstrap_format
    labels    = var.node_labels
    max       = var.autoscaling.max
    tags      = var.captf_tags
    version   = terraform_data.version.id
  }
}

resource "terraform_data" "desired" {
  input = var.replicas

  lifecycle {
    ignore_changes = [input]
  }
}

locals {
  members = [
    for i in range(terraform_data.desired.output) : {
      id    = "example:///${var.captf_object.name}/${i}"
      state = "running"
    }
  ]
}

output "provider_id" {
  value = terraform_data.group.id
}

output "provider_id_list" {
  value = <<-EOT
    x
  EOT
}

output "replicas" {
  value = terraform_data.desired.output
}

output "instances" {
  value = [
    for member in local.members : {
      provider_id = member.id
      state       = member.state
      addresses   = []
    }
  ]
}

output "health" {
  value = {
    state   = "running"
    healthy = true
  }
}
