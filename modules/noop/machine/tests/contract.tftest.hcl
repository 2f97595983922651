# The module against the contract: every output on the good path, membership in the
# API backend, and what is refused.

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

run "happy_path" {
  assert {
    condition     = output.provider_id == "noop:///team-a/dev-cp-abcde"
    error_message = "The provider id must be made from the namespace and the Machine's name."
  }

  assert {
    condition = jsonencode(output.addresses) == jsonencode([
      { address = "198.19.18.135", type = "InternalIP" },
      { address = "dev-cp-abcde", type = "Hostname" },
    ])
    error_message = "The addresses must be an InternalIP from the name's hash and the name itself."
  }

  assert {
    condition     = output.failure_domain == null && !output.interruptible
    error_message = "Nothing was asked for, so nothing must be reported."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy && length(output.health.reasons) == 0
    error_message = "The instance must be running without any Node."
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

run "tags_on_the_resource" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.instance.input.tags) == jsonencode(var.captf_tags)
    error_message = "The resource must carry captf_tags."
  }
}

run "worker_registers_nothing" {
  assert {
    condition     = length(terraform_data.backend_member) == 0
    error_message = "A worker must not join the API backend."
  }

  assert {
    condition     = terraform_data.instance.input.backend_id == null
    error_message = "A worker must not know the API backend."
  }
}

run "worker_needs_no_exports" {
  command = plan

  variables {
    captf_cluster_outputs = {}
  }

  assert {
    condition     = output.provider_id == "noop:///team-a/dev-cp-abcde"
    error_message = "A worker of an externally managed cluster must work without further variables."
  }
}

run "failure_domain_is_echoed" {
  command = plan

  variables {
    failure_domain = "fd1"
  }

  assert {
    condition     = output.failure_domain == "fd1"
    error_message = "The failure domain must be the one that was asked for."
  }
}

run "two_machines_differ" {
  command = plan

  variables {
    machine_name = "dev-cp-fghij"
  }

  assert {
    condition     = output.provider_id == "noop:///team-a/dev-cp-fghij" && output.addresses[0].address != "198.19.18.135" && output.addresses[1].address == "dev-cp-fghij"
    error_message = "Provider id and addresses must be the machine's own."
  }
}

run "build_metadata_is_stripped" {
  command = plan

  variables {
    kubernetes_version = "v1.36.1+rke2r1"
  }

  assert {
    condition     = terraform_data.instance.input.image == "noop-kubernetes-v1.36.1" && terraform_data.instance.input.kubernetes_version == "v1.36.1+rke2r1"
    error_message = "The image must be looked up without the build metadata."
  }
}

run "no_version" {
  command = plan

  variables {
    kubernetes_version = null
  }

  assert {
    condition     = terraform_data.instance.input.image == null
    error_message = "A machine may have no version."
  }
}

run "bootstrap_is_recorded_as_digest" {
  command = plan

  assert {
    condition = jsonencode(terraform_data.instance.input.bootstrap) == jsonencode({
      format = "cloud-config"
      length = 20
      sha256 = "9ab9f0f8f4e5aa482cce8d113de379ec62dfed906cdcce4a589aa628bdddaac0"
    })
    error_message = "Of the payload only format, length and digest must be recorded."
  }
}

# The payload is gzip, so it is no text and base64decode() would refuse it.
run "bootstrap_gzip_ignition" {
  command = plan

  variables {
    bootstrap_data   = "H4sIAAAAAAAAA6tWykzPyyzJzM9TsqpWKkstKgYzlYz1DPQMlGprAXruRuAgAAAA"
    bootstrap_format = "ignition"
  }

  assert {
    condition     = terraform_data.instance.input.bootstrap.format == "ignition" && terraform_data.instance.input.bootstrap.length == 64
    error_message = "Any payload must be accepted."
  }
}

run "long_names" {
  command = plan

  variables {
    captf_object = { kind = "TerraformMachine", name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", namespace = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" }
    machine_name = "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
  }

  assert {
    condition     = output.provider_id == "noop:///${var.captf_object.namespace}/${var.machine_name}" && length(output.provider_id) <= 512
    error_message = "Names of full length must fit into the provider id."
  }

  assert {
    condition     = output.addresses[1].address == var.machine_name
    error_message = "A name of full length must be reported whole."
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
