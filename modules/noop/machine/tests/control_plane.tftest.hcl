# A control-plane machine: it joins the API backend in the same apply.

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
  control_plane         = true
}

run "registers_in_the_backend" {
  assert {
    condition = jsonencode(terraform_data.backend_member[0].output) == jsonencode({
      address     = output.addresses[0].address
      backend_id  = "noop-backend-1"
      instance_id = terraform_data.instance.id
    })
    error_message = "The backend must be the one of the cluster's exports, and the member this instance."
  }

  assert {
    condition     = terraform_data.instance.input.backend_id == "noop-backend-1"
    error_message = "The exports must flow into the record."
  }
}

run "reapply_is_stable" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.backend_member[0].output) == jsonencode(terraform_data.backend_member[0].input)
    error_message = "A second apply must have nothing to do."
  }
}

# Exports without a schema come from no-op cluster modules that exported none.
run "exports_without_schema" {
  command = plan

  variables {
    captf_cluster_outputs = { backend_id = "noop-backend-2" }
  }

  assert {
    condition     = terraform_data.backend_member[0].input.backend_id == "noop-backend-2"
    error_message = "The schema must be optional."
  }
}

run "externally_managed_with_override" {
  command = plan

  variables {
    captf_cluster_outputs    = {}
    external_cluster_exports = { schema = "captf.io/noop-cluster/v1", backend_id = "noop-backend-external" }
  }

  assert {
    condition     = terraform_data.backend_member[0].input.backend_id == "noop-backend-external"
    error_message = "The override must be used when there are no exports."
  }
}

run "own_exports_win" {
  command = plan

  variables {
    external_cluster_exports = { schema = "captf.io/noop-cluster/v1", backend_id = "noop-backend-external" }
  }

  assert {
    condition     = terraform_data.backend_member[0].input.backend_id == "noop-backend-1"
    error_message = "The override must be ignored when there are exports."
  }
}

run "externally_managed_without_override" {
  command = plan

  variables {
    captf_cluster_outputs = {}
  }

  expect_failures = [terraform_data.backend_member]
}

run "no_exports_at_all" {
  command = plan

  variables {
    captf_cluster_outputs = null
  }

  expect_failures = [terraform_data.backend_member]
}

run "incomplete_exports" {
  command = plan

  variables {
    captf_cluster_outputs = { schema = "captf.io/noop-cluster/v1" }
  }

  expect_failures = [terraform_data.backend_member]
}

run "wrong_external_schema" {
  command = plan

  variables {
    external_cluster_exports = { backend_id = "noop-backend-external" }
  }

  expect_failures = [var.external_cluster_exports]
}
