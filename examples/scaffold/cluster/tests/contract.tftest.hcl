# The module against the contract. It holds for a real cloud as it does for the stand-ins, once
# the addresses in it are those of your resources. Runs of one file share their state.

variables {
  captf_contract = "v1alpha1"
  captf_cluster  = { name = "dev", namespace = "default" }
  captf_object   = { kind = "TerraformCluster", name = "dev", namespace = "default" }
  captf_tags = {
    "captf.io/cluster"    = "dev"
    "captf.io/namespace"  = "default"
    "captf.io/kind"       = "TerraformCluster"
    "captf.io/name"       = "dev"
    "captf.io/managed-by" = "captf"
    "captf.io/template"   = ""
  }
  control_plane_endpoint    = null
  kubernetes_version        = "v1.31.4"
  control_plane_initialized = false
  cluster_network           = null
}

run "happy_path" {
  assert {
    condition     = endswith(output.control_plane_endpoint.host, ".invalid") && output.control_plane_endpoint.port == 6443
    error_message = "The endpoint must be there with the first apply."
  }

  assert {
    condition     = jsonencode(output.failure_domains[*].name) == jsonencode(["zone-a", "zone-b", "zone-c"])
    error_message = "Every zone must be a failure domain."
  }

  assert {
    condition     = output.exports.schema == "example-cluster/v1" && output.exports.backend_id == terraform_data.api_backend.id
    error_message = "The exports must hold what machines need."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy
    error_message = "The cluster must be running before there is any machine."
  }
}

run "reapply_is_stable" {
  command = plan

  # Were there anything left to do, the output would not be known before the apply.
  assert {
    condition     = jsonencode(terraform_data.api_frontend[0].output) == jsonencode(terraform_data.api_frontend[0].input)
    error_message = "A second apply must have nothing to do."
  }
}

run "initialisation_keeps_the_endpoint" {
  command = plan

  # The run before knows them; they are handed over as variables of the test only.
  variables {
    endpoint_before           = run.happy_path.control_plane_endpoint
    exports_before            = run.happy_path.exports
    control_plane_initialized = true
  }

  assert {
    condition     = jsonencode(output.control_plane_endpoint) == jsonencode(var.endpoint_before)
    error_message = "The endpoint must stay the same for life."
  }

  assert {
    condition     = jsonencode(output.exports) == jsonencode(var.exports_before)
    error_message = "The exports must stay the same for life."
  }
}

run "tags_on_every_resource" {
  command = plan

  assert {
    condition     = jsonencode(terraform_data.api_backend.input.tags) == jsonencode(var.captf_tags) && jsonencode(terraform_data.api_frontend[0].input.tags) == jsonencode(var.captf_tags)
    error_message = "Every resource must carry captf_tags."
  }
}

run "user_endpoint" {
  command = plan

  variables {
    control_plane_endpoint = { host = "api.example.com", port = 443 }
  }

  assert {
    condition     = output.control_plane_endpoint.host == "api.example.com" && output.control_plane_endpoint.port == 443
    error_message = "An endpoint that somebody else provides must be used as it is."
  }

  assert {
    condition     = length(terraform_data.api_frontend) == 0
    error_message = "No load balancer must be made beside it."
  }
}

run "names_fit" {
  command = plan

  variables {
    captf_cluster = { name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", namespace = "default" }
  }

  assert {
    condition     = length(terraform_data.api_backend.input.name) <= 49
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
