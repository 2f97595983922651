locals {
  # Health is what the cloud says about the instance. It never waits for the Node,
  # which can only register after the machine was reported as provisioned (CP-054).
  health = (var.simulate_missing
    ? {
      state   = "terminated"
      healthy = false
      message = "The instance is gone. Simulated by the variable simulate_missing."
      reasons = tolist(["InstanceNotFound"])
    }
    : var.simulate_health == null
    ? {
      state   = "running"
      healthy = true
      message = "The instance exists as a record only; nothing was created in any cloud."
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
