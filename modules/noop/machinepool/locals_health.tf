locals {
  # Health is what the cloud says about the group. Members that are starting never
  # make it pending, since the first of them can only join once the pool is
  # reported as provisioned (CP-064); a group of size zero is healthy.
  health = (var.simulate_missing
    ? {
      state   = "terminated"
      healthy = false
      message = "The group is gone. Simulated by the variable simulate_missing."
      reasons = tolist(["GroupNotFound"])
    }
    : var.simulate_health == null
    ? {
      state   = "running"
      healthy = true
      message = "The group exists as a record only; nothing was created in any cloud."
      reasons = tolist([])
    }
    : {
      state   = var.simulate_health.state
      healthy = coalesce(var.simulate_health.healthy, var.simulate_health.state == "running")
      message = coalesce(var.simulate_health.message, "Simulated by the variable simulate_health.")
      reasons = var.simulate_health.reasons
    }
  )
}
