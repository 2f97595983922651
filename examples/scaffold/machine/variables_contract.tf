# The inputs of role machine in contract v1alpha1, in contract order: do not
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
    condition     = var.captf_object.kind == "TerraformMachine"
    error_message = "captf_object.kind must be TerraformMachine."
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

# Name of the owning Machine. Under RKE2 it differs from captf_object.name (CP-052).
variable "machine_name" {
  type        = string
  description = "Name of the owning Machine."
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

# Failure domain to place the instance in, null when none is asked for. The instance must be
# placed there and the output must echo it (CP-045).
variable "failure_domain" {
  type        = string
  description = "Failure domain to place the instance in, null when none is asked for."
  default     = null
}

# Kubernetes version of the machine. It may carry build metadata such as +rke2r1; strip it
# before an image lookup (CP-050).
variable "kubernetes_version" {
  type        = string
  description = "Kubernetes version of the machine."
  default     = null
}

# Whether the machine joins the control plane. Only then it joins the API backend, in the same
# apply (CP-030, CP-031).
variable "control_plane" {
  type        = bool
  description = "Whether the machine joins the control plane."
}
