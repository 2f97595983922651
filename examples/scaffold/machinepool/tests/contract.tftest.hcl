# The module against the contract. It holds for a real cloud as it does for the stand-ins, once
# the addresses in it are those of your resources. Runs of one file share their state.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "default" }
  captf_object   = { kind = "TerraformMachinePool", name = "dev", namespace = "default" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "default"
    "captf.io/kind"       = "TerraformMachinePool"
    "captf.io/name"       = "dev"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = ""
  }
  captf_cluster_outputs   = { backend_id = "backend-1" }
  machinepool_name        = "dev-pool"
  replicas                = 3
  bootstrap_data          = "I2Nsb3VkLWNvbmZpZwo="
  bootstrap_format        = "cloud-config"
  failure_domains         = []
  cluster_failure_domains = ["zone-a", "zone-b", "zone-c"]
  kubernetes_version      = "v1.31.4"
  node_labels             = { "example.com/team" = "a" }
  autoscaling             = { enabled = false, min = 0, max = 0 }
}

run "happy_path" {
  assert {
    condition     = length(output.provider_id_list) == 3 && output.replicas == 3 && length(output.instances) == 3
    error_message = "The group must have the wanted size."
  }

  assert {
    condition     = jsonencode(output.instances[*].failure_domain) == jsonencode(["zone-a", "zone-b", "zone-c"])
    error_message = "The members must be spread over the failure domains."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy
    error_message = "The group must be running before any Node registers."
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

run "tags_on_every_resource" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.group.input.tags) == jsonencode(var.captf_tags)
    error_message = "Every resource must carry captf_tags."
  }
}

run "bootstrap_rotation_keeps_the_members" {
  variables {
    members_before = run.happy_path.provider_id_list
    bootstrap_data = "bmV3IHRva2Vu"
  }

  assert {
    condition     = jsonencode(output.provider_id_list) == jsonencode(var.members_before)
    error_message = "Rotation must not touch a member."
  }
}

run "zero_replicas_healthy" {
  variables {
    replicas = 0
  }

  assert {
    condition     = output.replicas == 0 && length(output.provider_id_list) == 0 && output.health.healthy
    error_message = "A group of size zero has no members and is healthy."
  }
}

run "eleven_replicas_are_sorted" {
  variables {
    replicas = 11
  }

  assert {
    condition     = length(output.provider_id_list) == 11 && jsonencode(output.provider_id_list) == jsonencode(sort(output.provider_id_list))
    error_message = "Every member must be listed, in order."
  }
}

run "autoscaling_switched_on" {
  variables {
    autoscaling = { enabled = true, min = 1, max = 5 }
  }

  assert {
    condition     = output.replicas == 3
    error_message = "The scaler must start from the size at which it was switched on."
  }
}

run "autoscaling_ignores_the_wanted_size" {
  variables {
    autoscaling = { enabled = true, min = 1, max = 5 }
    replicas    = 4
  }

  assert {
    condition     = output.replicas == 3
    error_message = "While autoscaled the size is the scaler's."
  }
}

run "invalid_replicas" {
  command = plan

  variables {
    replicas = 1.5
  }

  expect_failures = [var.replicas]
}

run "contract_version" {
  command = plan

  variables {
    captf_contract = "another"
  }

  expect_failures = [var.captf_contract]
}
