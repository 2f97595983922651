locals {
  # Health is what the cloud says about the cluster's own resources. Backends play
  # no part: the first machine is only made once the cluster is provisioned (CP-006).
  health = (var.simulate_health == null
    ? {
      state   = "running"
      healthy = true
      message = "The load balancer exists as a record only; nothing was created in any cloud."
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
