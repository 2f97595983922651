terraform {
  required_version = ">= 1.5"
}

variable "captf_contract" {
  type = string

  validation {
    condition     = var.captf_contract == "v1alpha1"
    error_message = "captf_contract must be v1alpha1."
  }
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

variable "control_plane_endpoint" {
  type    = object({ host = string, port = number })
  default = null
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "control_plane_initialized" {
  type = bool
}

variable "cluster_network" {
  type = object({
    pods            = list(string)
    services        = list(string)
    service_domain  = string
    api_server_port = number
  })
  default = null
}

variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}

locals {
  own_endpoint = {
    host = terraform_data.load_balancer.output.address
    port = 6443
  }
}

resource "terraform_data" "load_balancer" {
  input = {
    address = "${var.captf_cluster.name}.example.com"
    tags    = var.captf_tags
  }

  lifecycle {
  }
}

output "control_plane_endpoint" {
  value = var.control_plane_endpoint != null ? var.control_plane_endpoint : local.own_endpoint
}

output "failure_domains" {
  value = [for zone in var.zones : { name = zone, control_plane = true, attributes = {} }]
}

output "exports" {
  value = {
    schema  = "example.com/cluster/v1"
    backend = terraform_data.load_balancer.id
    weight  = 10
  }
}

output "health" {
  value = {
    state   = "running"
    healthy = true
    message = null
    reasons = []
  }
}
