# The inputs of role machinepool in contract v1alpha1, in contract order: do not
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
    condition     = var.captf_object.kind == "TerraformMachinePool"
    error_message = "captf_object.kind must be TerraformMachinePool."
  }
}

# Tags for every resource that can be tagged. Exactly six keys; clouds with a smaller alphabet
# need a documented, injective mapping in the module.
variable "captf_tags" {
  type        = map(string)
  description = "Tags for every resource that can be tagged."
}

# The exports of the cluster module, verbatim. It is complete when a module first sees it, and
# never changes for a machine that is provisioned.
variable "captf_cluster_outputs" {
  type        = any
  description = "The exports of the cluster module, verbatim."
  default     = null
}

variable "machinepool_name" {
  type        = string
  description = "Name of the owning MachinePool."
}

# Wanted size of the group. Size the group to it exactly; while autoscaling ignore changes of
# the desired capacity.
variable "replicas" {
  type        = number
  description = "Wanted size of the group."

  validation {
    condition     = floor(var.replicas) == var.replicas && var.replicas >= 0
    error_message = "replicas must be a whole number of at least 0."
  }
}

# Bootstrap payload, base64 encoded. Opaque: the decoded bytes may be gzip and need not be
# UTF-8; control-plane payloads hold private keys.
variable "bootstrap_data" {
  type        = string
  description = "Bootstrap payload, base64 encoded."
  sensitive   = true
}

# Format of the decoded bootstrap payload. A module that supports only one must fail loudly on
# the other (CP-047).
variable "bootstrap_format" {
  type        = string
  description = "Format of the decoded bootstrap payload."

  validation {
    condition     = contains(["cloud-config", "ignition"], var.bootstrap_format)
    error_message = "bootstrap_format must be one of cloud-config, ignition."
  }
}

variable "failure_domains" {
  type        = list(string)
  description = "Failure domains to spread the members over; empty leaves the choice to the module."
}

variable "cluster_failure_domains" {
  type        = list(string)
  description = "Names of all failure domains of the cluster."
}

# Kubernetes version of the members. A change must roll the instances (CP-062).
variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the members."
  default     = null
}

# Labels for the members' Nodes. The module hands them to the kubelet; a change updates the
# launch configuration and replaces nothing.
variable "node_labels" {
  type        = map(string)
  description = "Labels for the members' Nodes."
}

# Range in which the group scales itself. All zero when it does not.
variable "autoscaling" {
  type        = object({ enabled = bool, min = number, max = number })
  description = "Range in which the group scales itself."
}
