# The module against the contract: every output on the good path, sizes, placement,
# and what is refused.

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

run "happy_path" {
  assert {
    condition     = output.provider_id == "noop-group:///team-a/dev-pool-x7k2p"
    error_message = "The id of the group must be made from the object's namespace and name."
  }

  assert {
    condition     = jsonencode(output.provider_id_list) == jsonencode(["noop:///team-a/dev-pool-x7k2p/0", "noop:///team-a/dev-pool-x7k2p/1", "noop:///team-a/dev-pool-x7k2p/2"])
    error_message = "Every member must be listed."
  }

  assert {
    condition     = output.replicas == 3
    error_message = "The group must have the wanted size."
  }

  assert {
    condition     = jsonencode(output.instances[2]) == jsonencode({ failure_domain = "fd1", instance_id = "2", provider_id = "noop:///team-a/dev-pool-x7k2p/2", state = "running" })
    error_message = "Every member must be described."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy && length(output.health.reasons) == 0
    error_message = "The group must be running without any Node."
  }

  assert {
    condition     = terraform_data.group.input.backend_id == "noop-backend-1"
    error_message = "The exports must flow into the record."
  }
}

run "reapply_is_stable" {
  command = plan

  # Were there anything left to do, the output would not be known before the apply.
  assert {
    condition     = jsonencode(terraform_data.group.output) == jsonencode(terraform_data.group.input)
    error_message = "A second apply must have nothing to do."
  }
}

run "tags_on_the_resource" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.group.input.tags) == jsonencode(var.captf_tags)
    error_message = "The resource must carry captf_tags."
  }
}

# The payload is gzip, so it is no text and base64decode() would refuse it.
run "bootstrap_rotation_keeps_the_members" {
  variables {
    bootstrap_data   = "H4sIAAAAAAAAA6tWykzPyyzJzM9TsqpWKkstKgYzlYz1DPQMlGprAXruRuAgAAAA"
    bootstrap_format = "ignition"
  }

  assert {
    condition     = terraform_data.group.input.bootstrap.sha256 == sha256("H4sIAAAAAAAAA6tWykzPyyzJzM9TsqpWKkstKgYzlYz1DPQMlGprAXruRuAgAAAA") && terraform_data.group.input.bootstrap.length == 64
    error_message = "The digest of the new payload must be recorded."
  }

  assert {
    condition     = jsonencode(output.provider_id_list) == jsonencode(["noop:///team-a/dev-pool-x7k2p/0", "noop:///team-a/dev-pool-x7k2p/1", "noop:///team-a/dev-pool-x7k2p/2"])
    error_message = "Rotation must not touch a member."
  }
}

run "zero_replicas_healthy" {
  variables {
    replicas = 0
  }

  assert {
    condition     = output.replicas == 0 && length(output.provider_id_list) == 0 && length(output.instances) == 0
    error_message = "A group of size zero has no members."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy
    error_message = "A group of size zero is healthy."
  }
}

run "one_replica" {
  variables {
    replicas = 1
  }

  assert {
    condition     = jsonencode(output.provider_id_list) == jsonencode(["noop:///team-a/dev-pool-x7k2p/0"])
    error_message = "There must be one member."
  }
}

run "eleven_replicas_are_sorted" {
  variables {
    replicas = 11
  }

  assert {
    condition     = output.replicas == 11 && length(output.provider_id_list) == 11 && length(output.instances) == 11
    error_message = "There must be eleven members."
  }

  assert {
    condition     = output.provider_id_list[1] == "noop:///team-a/dev-pool-x7k2p/1" && output.provider_id_list[2] == "noop:///team-a/dev-pool-x7k2p/10" && output.provider_id_list[3] == "noop:///team-a/dev-pool-x7k2p/2"
    error_message = "The list must be in the order of text."
  }
}

run "own_failure_domains_win" {
  command = plan

  variables {
    failure_domains         = ["a", "b"]
    cluster_failure_domains = ["a", "b", "c"]
  }

  assert {
    condition     = jsonencode(output.instances[*].failure_domain) == jsonencode(["a", "b", "a"])
    error_message = "The members must be spread over the pool's own failure domains."
  }
}

run "no_failure_domains" {
  command = plan

  variables {
    cluster_failure_domains = []
  }

  assert {
    condition     = jsonencode(output.instances[*].failure_domain) == jsonencode([null, null, null])
    error_message = "A pool must work without failure domains."
  }
}

run "external_cluster_exports" {
  command = plan

  variables {
    captf_cluster_outputs    = {}
    external_cluster_exports = { schema = "captf.io/noop-cluster/v1", backend_id = "noop-backend-external" }
  }

  assert {
    condition     = terraform_data.group.input.backend_id == "noop-backend-external"
    error_message = "The override must be used when there are no exports."
  }
}

run "no_exports_at_all" {
  command = plan

  variables {
    captf_cluster_outputs = null
    kubernetes_version    = null
    node_labels           = {}
  }

  assert {
    condition     = terraform_data.group.input.backend_id == null && output.replicas == 3
    error_message = "A pool of an externally managed cluster must work without further variables."
  }
}

run "long_names" {
  command = plan

  variables {
    captf_object = { kind = "TerraformMachinePool", name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", namespace = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" }
  }

  assert {
    condition     = length(output.provider_id) <= 512 && length(output.provider_id_list[0]) <= 512
    error_message = "Names of full length must fit into the provider ids."
  }
}

run "contract_version" {
  command = plan

  variables {
    captf_contract = "v2"
  }

  expect_failures = [var.captf_contract]
}

run "invalid_bootstrap_format" {
  command = plan

  variables {
    bootstrap_format = "shell"
  }

  expect_failures = [var.bootstrap_format]
}

run "wrong_exports_schema" {
  command = plan

  variables {
    captf_cluster_outputs = { schema = "captf.io/aws-cluster/v1", backend_id = "tg-1" }
  }

  expect_failures = [var.captf_cluster_outputs]
}

run "wrong_external_schema" {
  command = plan

  variables {
    external_cluster_exports = { schema = "captf.io/aws-cluster/v1" }
  }

  expect_failures = [var.external_cluster_exports]
}

run "invalid_replicas_fraction" {
  command = plan

  variables {
    replicas = 1.5
  }

  expect_failures = [var.replicas]
}

run "invalid_replicas_negative" {
  command = plan

  variables {
    replicas = -1
  }

  expect_failures = [var.replicas]
}

run "invalid_node_labels_key" {
  command = plan

  variables {
    node_labels = { "bad key" = "a" }
  }

  expect_failures = [var.node_labels]
}

run "invalid_node_labels_value" {
  command = plan

  variables {
    node_labels = { key = "$(reboot)" }
  }

  expect_failures = [var.node_labels]
}

run "invalid_autoscaling" {
  command = plan

  variables {
    autoscaling = { enabled = true, min = 3, max = 2 }
  }

  expect_failures = [var.autoscaling]
}
