# The contract inputs of role cluster, in contract order. The generated root
# passes all of them, so one that can be null has the default null and the
# others have none: a default would only hide a caller that forgot them.

variable "captf_contract" {
  type        = string
  description = "Version of the module contract."

  validation {
    condition     = var.captf_contract == "v1alpha1"
    error_message = "captf_contract must be v1alpha1, the only contract version that this module was written for."
  }
}

variable "captf_cluster" {
  type = object({
    name      = string
    namespace = string
  })
  description = "Name and namespace of the owning Cluster."
}

variable "captf_object" {
  type = object({
    kind      = string
    name      = string
    namespace = string
  })
  description = "Kind, name and namespace of the object that this module is run for."
}

variable "captf_tags" {
  type        = map(string)
  description = "Tags for every resource that can be tagged."
}

variable "control_plane_endpoint" {
  type = object({
    host = string
    port = number
  })
  description = "Endpoint that somebody else provides; null asks the module for one."
  default     = null
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the topology."
  default     = null
}

variable "control_plane_initialized" {
  type        = bool
  description = "Whether the workload cluster's API has answered."
}

variable "cluster_network" {
  # The generated root passes all four attributes or null. They are optional
  # here so that a test or a hand-written root may leave out what it does not
  # care about.
  type = object({
    pods            = optional(list(string), [])
    services        = optional(list(string), [])
    service_domain  = optional(string)
    api_server_port = optional(number)
  })
  description = "Network settings of the Cluster."
  default     = null
}
