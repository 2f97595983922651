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

variable "machine_name" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "bootstrap_format" {
  type = string

  validation {
    condition     = var.bootstrap_format == "cloud-config"
    error_message = "Only cloud-config is supported."
  }
}

variable "failure_domain" {
  type    = string
  default = null
}

variable "kubernetes_version" {
  type    = string
  default = null
}

variable "control_plane" {
  type = bool
}

variable "disk_gib" {
  type    = number
  default = 20
}

module "tags" {
  source = "./tags"
  tags   = var.captf_tags
}

locals {
  health = {
    state   = "running"
    healthy = true
    reasons = []
  }
}

resource "terraform_data" "instance" {
  input = {
    name    = var.machine_name
    address = "10.0.0.10"
    digest  = sha256(var.bootstrap_data)
    disk    = var.disk_gib
    domain  = var.failure_domain
    tags    = module.tags.labels
    version = var.kubernetes_version
  }
}

output "provider_id" {
  value = "example:///${terraform_data.instance.id}"
}

output "addresses" {
  value = [
    {
      type    = "InternalIP"
      address = terraform_data.instance.output.address
    },
  ]
}

output "failure_domain" {
  value = var.failure_domain
}

output "interruptible" {
  value = false
}

output "health" {
  value = local.health
}
