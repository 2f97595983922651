# The contract inputs of role machinepool, in contract order. The generated root
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

variable "captf_cluster_outputs" {
  type        = any
  description = "The exports of the cluster module, verbatim."
  default     = null

  validation {
    condition     = try(var.captf_cluster_outputs.schema, "captf.io/simulated-aws-cluster/v1") == "captf.io/simulated-aws-cluster/v1"
    error_message = "captf_cluster_outputs must come from the cluster module of this set: its schema must be captf.io/simulated-aws-cluster/v1."
  }
}

variable "machinepool_name" {
  type        = string
  description = "Name of the owning MachinePool."
}

variable "replicas" {
  type        = number
  description = "Wanted size of the group."

  validation {
    condition     = var.replicas >= 0 && floor(var.replicas) == var.replicas
    error_message = "replicas must be a whole number of at least 0."
  }
}

variable "bootstrap_data" {
  type        = string
  description = "Bootstrap payload, base64 encoded."
  sensitive   = true
}

variable "bootstrap_format" {
  type        = string
  description = "Format of the decoded bootstrap payload."

  validation {
    condition     = contains(["cloud-config", "ignition"], var.bootstrap_format)
    error_message = "bootstrap_format must be cloud-config or ignition."
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

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the members."
  default     = null
}

variable "node_labels" {
  type        = map(string)
  description = "Labels for the members' Nodes."

  # A real module writes the labels into a script that runs on the node. Accepting
  # nothing but label syntax is what makes that safe without quoting.
  validation {
    condition = alltrue([
      for key in keys(var.node_labels) :
      can(regex("^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", key))
    ])
    error_message = "node_labels must have keys in the syntax of Kubernetes labels, such as example.com/role."
  }

  validation {
    condition = alltrue([
      for value in values(var.node_labels) :
      can(regex("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$", value))
    ])
    error_message = "node_labels must have values in the syntax of Kubernetes labels: at most 63 letters, digits, hyphens, underscores and dots."
  }
}

variable "autoscaling" {
  type = object({
    enabled = bool
    min     = number
    max     = number
  })
  description = "Range in which the group scales itself."

  validation {
    condition     = !var.autoscaling.enabled || (var.autoscaling.min >= 0 && var.autoscaling.min <= var.autoscaling.max)
    error_message = "autoscaling must satisfy 0 <= min <= max when it is enabled."
  }
}
