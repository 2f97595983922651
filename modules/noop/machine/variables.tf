# User variables, all optional: with the defaults the module is a plain machine
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

variable "interruptible" {
  type        = bool
  description = "Whether the instance is reported as one that the cloud may stop at any time."
  default     = false
  nullable    = false
}

variable "provider_id_override" {
  type        = string
  description = "Provider id to report instead of the generated one, for example one that no Node will carry."
  default     = null
}

variable "simulate_failure" {
  type        = string
  description = "Operation that fails: plan, apply (after the resource was created), destroy (plan and apply fail too), or an empty string for none."
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
  description = "Whether to report the instance as gone: no provider id, no addresses, health terminated. Wins over simulate_health and provider_id_override."
  default     = false
  nullable    = false
}
