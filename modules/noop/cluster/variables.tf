# User variables, all optional: with the defaults the module is a plain cluster
# without a cloud. The others make the branches of a controller reachable that
# otherwise need a broken cloud.

variable "endpoint_host" {
  type        = string
  description = "Host of the endpoint instead of the generated one; an empty string publishes no endpoint at all. Ignored when control_plane_endpoint is given; changing it later breaks the promise that an endpoint never changes."
  default     = null

  validation {
    condition     = length(coalesce(var.endpoint_host, "x")) <= 512
    error_message = "endpoint_host must not be longer than 512 characters, the limit of the contract."
  }
}

variable "endpoint_port" {
  type        = number
  description = "Port of the endpoint. Ignored when control_plane_endpoint is given; changing it later breaks the promise that an endpoint never changes."
  default     = 6443
  nullable    = false

  validation {
    condition     = var.endpoint_port >= 1 && var.endpoint_port <= 65535 && floor(var.endpoint_port) == var.endpoint_port
    error_message = "endpoint_port must be a whole number from 1 to 65535."
  }
}

# tfcapi-lint:ignore input/user-variable-name the roles never share a module, and the output has this name too
variable "failure_domains" {
  type = list(object({
    name          = string
    control_plane = optional(bool, true)
    attributes    = optional(map(string), {})
  }))
  description = "Failure domains to publish."
  default     = [{ name = "fd1" }]
  nullable    = false

  validation {
    condition     = length(distinct(var.failure_domains[*].name)) == length(var.failure_domains)
    error_message = "failure_domains must not name a failure domain twice."
  }
}

variable "simulate_failure" {
  type        = string
  description = "Operation that fails: plan, apply (after the resource was created), destroy (plan and apply fail too, so set it on an existing cluster), or an empty string for none."
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
