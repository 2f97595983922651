# The variables that simulate what needs a broken cloud otherwise.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "team-a" }
  captf_object   = { kind = "TerraformMachine", name = "dev-md-0-x7k2p", namespace = "team-a" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "team-a"
    "captf.io/kind"       = "TerraformMachine"
    "captf.io/name"       = "dev-md-0-x7k2p"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = "dev-v1"
  }
  captf_cluster_outputs = { schema = "captf.io/noop-cluster/v1", backend_id = "noop-backend-1" }
  machine_name          = "dev-cp-abcde"
  bootstrap_data        = "I2Nsb3VkLWNvbmZpZwo="
  bootstrap_format      = "cloud-config"
  failure_domain        = null
  kubernetes_version    = "v1.36.1"
  control_plane         = false
}

run "interruptible" {
  command = plan

  variables {
    interruptible = true
  }

  assert {
    condition     = output.interruptible
    error_message = "The instance must be reported as interruptible."
  }
}

run "provider_id_override" {
  command = plan

  variables {
    provider_id_override = "noop:///somebody/else"
  }

  assert {
    condition     = output.provider_id == "noop:///somebody/else"
    error_message = "The provider id must be the one given."
  }
}

run "missing" {
  command = plan

  variables {
    provider_id_override = "noop:///somebody/else"
    simulate_health      = { state = "stopped" }
    simulate_missing     = true
  }

  assert {
    condition     = output.provider_id == null && length(output.addresses) == 0
    error_message = "An instance that is gone has neither provider id nor addresses."
  }

  assert {
    condition     = output.health.state == "terminated" && !output.health.healthy && output.health.reasons[0] == "InstanceNotFound"
    error_message = "An instance that is gone must be reported as terminated."
  }
}

run "health_stopped" {
  command = plan

  variables {
    simulate_health = { state = "stopped", reasons = ["HostMaintenance"] }
  }

  assert {
    condition     = output.health.state == "stopped" && !output.health.healthy && output.health.reasons[0] == "HostMaintenance"
    error_message = "Health must be as simulated, and not healthy unless it is running."
  }

  assert {
    condition     = output.provider_id == "noop:///team-a/dev-cp-abcde"
    error_message = "An instance that is stopped keeps its provider id."
  }
}

run "health_running_but_unhealthy" {
  command = plan

  variables {
    simulate_health = { state = "running", healthy = false, message = "status check failed" }
  }

  assert {
    condition     = jsonencode(output.health) == jsonencode({ healthy = false, message = "status check failed", reasons = [], state = "running" })
    error_message = "Health must be as simulated."
  }
}

run "invalid_simulate_health" {
  command = plan

  variables {
    simulate_health = { state = "fine" }
  }

  expect_failures = [var.simulate_health]
}

run "failure_of_plan" {
  command = plan

  variables {
    simulate_failure = "plan"
  }

  expect_failures = [terraform_data.instance]
}

run "failure_of_destroy" {
  command = plan

  variables {
    simulate_failure = "destroy"
  }

  expect_failures = [var.simulate_failure]
}

run "invalid_simulate_failure" {
  command = plan

  variables {
    simulate_failure = "refresh"
  }

  expect_failures = [var.simulate_failure]
}
