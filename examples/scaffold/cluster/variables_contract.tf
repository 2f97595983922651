# The inputs of role cluster in contract v1alpha1, in contract order: do not
# rename or remove any, even those that are not used. The generated root passes all of
# them, so only one that may be null has a default, and that is null.

# Version of the module contract. A module can assert the version it was written for.
variable "captf_contract" {
  type        = string
  description = "Version of the module contract."

  validation {
    condition     = var.captf_contract == "v1alpha1"
    error_message = "captf_contract must be v1alpha1."
  }
}

variable "captf_cluster" {
  type        = object({ name = string, namespace = string })
  description = "Name and namespace of the owning Cluster."
}

# Kind, name and namespace of the object that this module is run for. The name may differ from
# the name of the owning Machine or MachinePool (CP-052).
variable "captf_object" {
  type        = object({ kind = string, name = string, namespace = string })
  description = "Kind, name and namespace of the object that this module is run for."

  validation {
    condition     = var.captf_object.kind == "TerraformCluster"
    error_message = "captf_object.kind must be TerraformCluster."
  }
}

# Tags for every resource that can be tagged. Exactly six keys; clouds with a smaller alphabet
# need a documented, injective mapping in the module.
variable "captf_tags" {
  type        = map(string)
  description = "Tags for every resource that can be tagged."
}

# Endpoint that somebody else provides; null asks the module for one. When it is not null the
# module creates no endpoint and echoes this one (CP-002).
variable "control_plane_endpoint" {
  type        = object({ host = string, port = number })
  description = "Endpoint that somebody else provides; null asks the module for one."
  default     = null
}

# Kubernetes version of the topology. It may carry build metadata such as +rke2r1; strip it
# before comparing (CP-050).
variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the topology."
  default     = null
}

# Whether the workload cluster's API has answered. Anything that needs that API must be gated on
# it (CP-007); it turns true exactly once.
variable "control_plane_initialized" {
  type        = bool
  description = "Whether the workload cluster's API has answered."
}

# Network settings of the Cluster. All four attributes are present when it is not null.
variable "cluster_network" {
  type        = object({ pods = list(string), services = list(string), service_domain = string, api_server_port = number })
  description = "Network settings of the Cluster."
  default     = null
}
