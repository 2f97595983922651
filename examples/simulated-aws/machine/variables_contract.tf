# The contract inputs of role machine, in contract order. The generated root
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

variable "machine_name" {
  type        = string
  description = "Name of the owning Machine."
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

variable "failure_domain" {
  type        = string
  description = "Failure domain to place the instance in, null when none is asked for."
  default     = null
}

variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the machine."
  default     = null
}

variable "control_plane" {
  type        = bool
  description = "Whether the machine joins the control plane."
}
