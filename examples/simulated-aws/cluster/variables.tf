# User variables, all optional.

variable "additional_tags" {
  type        = map(string)
  description = "Tags for every resource that can be tagged, beside those of the contract, which win."
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.additional_tags) <= 40
    error_message = "additional_tags must have at most 40 entries: AWS allows 50 tags a resource."
  }

  validation {
    condition     = alltrue([for key in keys(var.additional_tags) : !can(regex("^(?i:aws:)|^captf\\.io/|^kubernetes\\.io/cluster/", key))])
    error_message = "additional_tags must not have keys that begin with aws:, captf.io/ or kubernetes.io/cluster/."
  }
}

variable "api_allowed_cidrs" {
  type        = list(string)
  description = "IPv4 ranges that may reach the API beside the VPC: where the management cluster and users are."
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for cidr in var.api_allowed_cidrs : can(cidrnetmask(cidr))])
    error_message = "api_allowed_cidrs must hold IPv4 ranges such as 192.0.2.0/24."
  }
}

variable "api_load_balancer_public" {
  type        = bool
  description = "Whether the API is reached from the internet. It decides the endpoint, so it cannot change later."
  default     = false
  nullable    = false
}

variable "cni_ports" {
  type = map(object({
    protocol  = string
    from_port = optional(number)
    to_port   = optional(number)
  }))
  description = "What nodes accept from each other for the pod network; the default fits canal, flannel, Calico and Cilium."
  default = {
    vxlan-flannel = { protocol = "udp", from_port = 8472, to_port = 8472 }
    vxlan-calico  = { protocol = "udp", from_port = 4789, to_port = 4789 }
    bgp           = { protocol = "tcp", from_port = 179, to_port = 179 }
    typha         = { protocol = "tcp", from_port = 5473, to_port = 5473 }
    health-calico = { protocol = "tcp", from_port = 9098, to_port = 9099 }
    health-cilium = { protocol = "tcp", from_port = 4240, to_port = 4240 }
    ip-in-ip      = { protocol = "4" }
  }
  nullable = false
}

variable "distribution" {
  type        = string
  description = "kubeadm, rke2, or auto: then RKE2's supervisor is published too, and a kubernetes_version such as v1.31.4+rke2r1 means RKE2."
  default     = "auto"
  nullable    = false

  validation {
    condition     = contains(["auto", "kubeadm", "rke2"], var.distribution)
    error_message = "distribution must be auto, kubeadm or rke2."
  }
}

variable "region" {
  type        = string
  description = "Region of the cluster."
  default     = "eu-central-1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]+$", var.region))
    error_message = "region must be the name of an AWS region, such as eu-central-1."
  }
}

variable "ssh_allowed_cidrs" {
  type        = list(string)
  description = "IPv4 ranges that may reach port 22 of every node."
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for cidr in var.ssh_allowed_cidrs : can(cidrnetmask(cidr))])
    error_message = "ssh_allowed_cidrs must hold IPv4 ranges such as 192.0.2.0/24."
  }
}

variable "vpc_cidr" {
  type        = string
  description = "IPv4 range of the VPC; each zone gets a sixteenth of it."
  default     = "10.0.0.0/16"
  nullable    = false

  validation {
    condition     = can(cidrnetmask(var.vpc_cidr)) && try(tonumber(split("/", var.vpc_cidr)[1]) >= 16 && tonumber(split("/", var.vpc_cidr)[1]) <= 24, false)
    error_message = "vpc_cidr must be an IPv4 range between /16 and /24."
  }
}

variable "zones" {
  type        = list(string)
  description = "Availability zones, each a failure domain; null means a, b and c of the region. Only append: the position decides the range of a zone's subnet."
  default     = null

  validation {
    condition     = length(coalesce(var.zones, ["any"])) >= 1 && length(coalesce(var.zones, ["any"])) <= 16 && length(distinct(coalesce(var.zones, ["any"]))) == length(coalesce(var.zones, ["any"]))
    error_message = "zones must hold between 1 and 16 different zones."
  }
}
