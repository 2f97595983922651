# The variables that simulate what needs a broken cloud otherwise.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "team-a" }
  captf_object   = { kind = "TerraformCluster", name = "dev-x7k2p", namespace = "team-a" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "team-a"
    "captf.io/kind"       = "TerraformCluster"
    "captf.io/name"       = "dev-x7k2p"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = ""
  }
  control_plane_endpoint    = null
  kubernetes_version        = null
  control_plane_initialized = false
  cluster_network           = null
}

run "endpoint_host" {
  command = plan

  variables {
    endpoint_host = "api.test.invalid"
  }

  assert {
    condition     = jsonencode(output.control_plane_endpoint) == jsonencode({ host = "api.test.invalid", port = 6443 })
    error_message = "endpoint_host must take the place of the generated host."
  }
}

run "no_endpoint" {
  variables {
    endpoint_host = ""
  }

  assert {
    condition     = output.control_plane_endpoint == null
    error_message = "With an empty endpoint_host nothing must be published."
  }
}

run "no_endpoint_until_somebody_provides_one" {
  variables {
    control_plane_endpoint = { host = "hosted.example.com", port = 6443 }
    endpoint_host          = ""
  }

  assert {
    condition     = output.control_plane_endpoint.host == "hosted.example.com"
    error_message = "A later endpoint must be taken over."
  }
}

run "endpoint_port" {
  command = plan

  variables {
    endpoint_host = "127.0.0.1"
    endpoint_port = 16443
  }

  assert {
    condition     = jsonencode(terraform_data.load_balancer.input.endpoint) == jsonencode({ host = "127.0.0.1", port = 16443 })
    error_message = "endpoint_port must take the place of 6443."
  }
}

run "invalid_endpoint_port" {
  command = plan

  variables {
    endpoint_port = 6443.5
  }

  expect_failures = [var.endpoint_port]
}

run "invalid_endpoint_host" {
  command = plan

  variables {
    endpoint_host = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"
  }

  expect_failures = [var.endpoint_host]
}

run "failure_domains" {
  command = plan

  variables {
    failure_domains = [
      { name = "a" },
      { name = "b", control_plane = false, attributes = { rack = "7" } },
    ]
  }

  assert {
    condition = jsonencode(output.failure_domains) == jsonencode([
      { attributes = {}, control_plane = true, name = "a" },
      { attributes = { rack = "7" }, control_plane = false, name = "b" },
    ])
    error_message = "The failure domains must be published as given."
  }
}

run "no_failure_domains" {
  command = plan

  variables {
    failure_domains = []
  }

  assert {
    condition     = length(output.failure_domains) == 0
    error_message = "A cluster may have no failure domains."
  }
}

run "invalid_failure_domains" {
  command = plan

  variables {
    failure_domains = [{ name = "a" }, { name = "a" }]
  }

  expect_failures = [var.failure_domains]
}

run "health_pending" {
  command = plan

  variables {
    simulate_health = { state = "pending" }
  }

  assert {
    condition     = output.health.state == "pending" && !output.health.healthy
    error_message = "Health must be as simulated, and not healthy unless it is running."
  }
}

run "health_in_full" {
  command = plan

  variables {
    simulate_health = { state = "running", healthy = false, message = "two of three zones answer", reasons = ["ZoneDown"] }
  }

  assert {
    condition     = jsonencode(output.health) == jsonencode({ healthy = false, message = "two of three zones answer", reasons = ["ZoneDown"], state = "running" })
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

  expect_failures = [terraform_data.load_balancer]
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
