# User variables, all optional: with the defaults the module is a plain group
# without a cloud. The others make the branches of a controller reachable that
# otherwise need a broken cloud.

variable "external_cluster_exports" {
  type        = any
  description = "The cluster's exports when captf_cluster_outputs is empty because the cluster is managed externally."
  default     = null

  validation {
    condition     = var.external_cluster_exports == null || try(var.external_cluster_exports.schema, "") == "captf.io/noop-cluster/v1"
    error_message = "external_cluster_exports must be null or an object whose schema is captf.io/noop-cluster/v1."
  }
}

variable "provider_id_list_override" {
  type        = list(string)
  description = "Provider ids to report instead of the generated ones; replicas stays, so the two can be made to disagree as they do while a group scales."
  default     = null
}

variable "simulate_failure" {
  type        = string
  description = "Operation that fails: plan, apply (after the resource was created), destroy (plan and apply fail too, so set it on an existing pool), or an empty string for none."
  default     = ""
  nullable    = false

  validation {
    condition     = contains(["", "plan", "apply", "destroy"], var.simulate_failure)
    error_message = "simulate_failure must be an empty string, plan, apply or destroy."
  }

  # Of all conditions only validations of variables are checked when a destroy is
  # planned, so this is the one way to make a destroy fail that runs nothing.
  validation {
    condition     = var.simulate_failure != "destroy"
    error_message = "simulate_failure is destroy: this failure is simulated, and lasts until the variable is changed."
  }
}

variable "simulate_health" {
  type = object({
    state   = string
    healthy = optional(bool)
    message = optional(string)
    reasons = optional(list(string), [])
  })
  description = "Health to report instead of running; healthy defaults to whether the state is running."
  default     = null

  validation {
    condition     = contains(["pending", "running", "degraded", "stopped", "terminated", "unknown"], try(var.simulate_health.state, "running"))
    error_message = "simulate_health.state must be one of pending, running, degraded, stopped, terminated and unknown."
  }
}

variable "simulate_missing" {
  type        = bool
  description = "Whether to report the group as gone: no provider id, no members, health terminated. Wins over simulate_health and provider_id_list_override."
  default     = false
  nullable    = false
}
