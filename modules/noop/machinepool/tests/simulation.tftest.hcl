# The variables that simulate what needs a broken cloud otherwise.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "team-a" }
  captf_object   = { kind = "TerraformMachinePool", name = "dev-pool-x7k2p", namespace = "team-a" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "team-a"
    "captf.io/kind"       = "TerraformMachinePool"
    "captf.io/name"       = "dev-pool-x7k2p"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = "dev-v1"
  }
  captf_cluster_outputs   = { schema = "captf.io/noop-cluster/v1", backend_id = "noop-backend-1" }
  machinepool_name        = "dev-pool"
  replicas                = 3
  bootstrap_data          = "I2Nsb3VkLWNvbmZpZwo="
  bootstrap_format        = "cloud-config"
  failure_domains         = []
  cluster_failure_domains = ["fd1"]
  kubernetes_version      = "v1.36.1"
  node_labels             = { "example.com/team" = "a" }
  autoscaling             = { enabled = false, min = 0, max = 0 }
}

run "provider_id_list_override" {
  command = plan

  variables {
    provider_id_list_override = ["noop:///other/b", "noop:///other/a"]
  }

  assert {
    condition     = jsonencode(output.provider_id_list) == jsonencode(["noop:///other/a", "noop:///other/b"])
    error_message = "The list must be the one given, sorted."
  }

  assert {
    condition     = output.replicas == 3 && length(output.instances) == 2
    error_message = "The desired capacity must stay, so that the two disagree."
  }
}

run "missing" {
  command = plan

  variables {
    simulate_health  = { state = "stopped" }
    simulate_missing = true
  }

  assert {
    condition     = output.provider_id == null && length(output.provider_id_list) == 0 && length(output.instances) == 0
    error_message = "A group that is gone has neither an id nor members."
  }

  # Never zero: the number could flow back into the MachinePool.
  assert {
    condition     = output.replicas == 3
    error_message = "A group that is gone must still report the wanted size."
  }

  assert {
    condition     = output.health.state == "terminated" && !output.health.healthy && output.health.reasons[0] == "GroupNotFound"
    error_message = "A group that is gone must be reported as terminated."
  }
}

run "health_degraded" {
  command = plan

  variables {
    simulate_health = { state = "degraded", message = "one member fails its check", reasons = ["InstanceDegraded:0"] }
  }

  assert {
    condition     = jsonencode(output.health) == jsonencode({ healthy = false, message = "one member fails its check", reasons = ["InstanceDegraded:0"], state = "degraded" })
    error_message = "Health must be as simulated."
  }

  assert {
    condition     = length(output.provider_id_list) == 3 && output.instances[0].state == "degraded"
    error_message = "A member must stay listed whatever its health."
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

  expect_failures = [terraform_data.group]
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
