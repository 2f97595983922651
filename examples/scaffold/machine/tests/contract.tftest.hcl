# The module against the contract. It holds for a real cloud as it does for the stand-ins, once
# the addresses in it are those of your resources. Runs of one file share their state.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "default" }
  captf_object   = { kind = "TerraformMachine", name = "dev", namespace = "default" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "default"
    "captf.io/kind"       = "TerraformMachine"
    "captf.io/name"       = "dev"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = ""
  }
  captf_cluster_outputs = { backend_id = "backend-1" }
  machine_name          = "dev-control-plane-x7k2p"
  bootstrap_data        = "I2Nsb3VkLWNvbmZpZwo="
  bootstrap_format      = "cloud-config"
  failure_domain        = "zone-a"
  kubernetes_version    = "v1.31.4"
  control_plane         = false
}

run "happy_path" {
  assert {
    condition     = startswith(output.provider_id, "example:///default/${var.machine_name}-")
    error_message = "The provider id must be known after the first apply."
  }

  assert {
    condition     = output.addresses[0].type == "InternalIP" && output.addresses[1].address == var.machine_name
    error_message = "There must be an InternalIP and the host's name."
  }

  assert {
    condition     = output.failure_domain == "zone-a"
    error_message = "The failure domain must be the one that was asked for."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy
    error_message = "The instance must be running before its Node registers."
  }
}

run "reapply_is_stable" {
  command = plan

  # Were there anything left to do, the output would not be known before the apply.
  assert {
    condition     = jsonencode(terraform_data.instance.output) == jsonencode(terraform_data.instance.input)
    error_message = "A second apply must have nothing to do."
  }
}

run "tags_on_every_resource" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.instance.input.tags) == jsonencode(var.captf_tags)
    error_message = "Every resource must carry captf_tags."
  }
}

run "control_plane_registers_backend" {
  command = plan

  variables {
    control_plane = true
  }

  assert {
    condition     = length(terraform_data.api_backend_member) == 1 && terraform_data.api_backend_member[0].input.backend_id == "backend-1"
    error_message = "A control-plane machine must join the backend that the cluster exports."
  }
}

run "worker_registers_nothing" {
  command = plan

  assert {
    condition     = length(terraform_data.api_backend_member) == 0
    error_message = "A worker must not join the API backend."
  }
}

run "incomplete_exports" {
  command = plan

  variables {
    captf_cluster_outputs = {}
    control_plane         = true
  }

  expect_failures = [terraform_data.api_backend_member]
}

run "no_failure_domain_and_no_version" {
  command = plan

  variables {
    failure_domain     = null
    kubernetes_version = null
  }

  assert {
    condition     = output.failure_domain == null
    error_message = "A machine may ask for no failure domain."
  }
}

run "build_metadata_is_stripped" {
  command = plan

  variables {
    kubernetes_version = "v1.31.4+rke2r1"
  }

  assert {
    condition     = terraform_data.instance.input.image == "kubernetes-v1.31.4"
    error_message = "The image must be looked up without the build metadata."
  }
}

run "names_fit" {
  command = plan

  variables {
    machine_name = "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
  }

  assert {
    condition     = length(terraform_data.instance.input.name) == 63
    error_message = "Names must fit into the limits of the cloud."
  }
}

run "contract_version" {
  command = plan

  variables {
    captf_contract = "another"
  }

  expect_failures = [var.captf_contract]
}
