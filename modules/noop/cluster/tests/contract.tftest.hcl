# The module against the contract: every output on the good path, what must stay
# the same through the cluster's life, and what is refused.

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

run "happy_path" {
  assert {
    condition     = jsonencode(output.control_plane_endpoint) == jsonencode({ host = "noop-dev-x7k2p.invalid", port = 6443 })
    error_message = "The endpoint must be made from the object's name."
  }

  assert {
    condition     = jsonencode(output.failure_domains) == jsonencode([{ attributes = {}, control_plane = true, name = "fd1" }])
    error_message = "There must be one failure domain, fit for control planes."
  }

  assert {
    condition     = output.exports.schema == "captf.io/noop-cluster/v1"
    error_message = "The exports must name their schema."
  }

  assert {
    condition     = output.exports.backend_id == "noop-backend-${terraform_data.load_balancer.id}"
    error_message = "The exports must hold the id of the backend."
  }

  assert {
    condition     = output.health.state == "running" && output.health.healthy && length(output.health.reasons) == 0
    error_message = "The cluster must be running before there is any backend."
  }
}

run "reapply_is_stable" {
  command = plan

  # Were there anything left to do, the output would not be known before the apply.
  assert {
    condition     = jsonencode(terraform_data.load_balancer.output) == jsonencode(terraform_data.load_balancer.input)
    error_message = "A second apply must have nothing to do."
  }
}

run "tags_on_the_resource" {
  assert {
    condition     = jsonencode(terraform_data.load_balancer.input.tags) == jsonencode(var.captf_tags)
    error_message = "The resource must carry captf_tags."
  }
}

run "before_initialisation" {
  variables {
    control_plane_initialized = false
  }

  assert {
    condition     = output.control_plane_endpoint.host == "noop-dev-x7k2p.invalid"
    error_message = "The endpoint must be there with the first apply."
  }
}

# Everything that may change in a cluster's life changes at once. The value of the
# run before it is handed over as a variable, which only the test knows.
run "life_changes_nothing_published" {
  variables {
    backend_before            = run.before_initialisation.exports.backend_id
    control_plane_initialized = true
    kubernetes_version        = "v1.36.1+rke2r1"
    cluster_network           = { pods = ["10.1.0.0/16"], services = [], service_domain = null, api_server_port = 7443 }
    captf_tags = {
      "captf.io/cluster"    = "dev"
      "captf.io/namespace"  = "team-a"
      "captf.io/kind"       = "TerraformCluster"
      "captf.io/name"       = "dev-x7k2p"
      "captf.io/managed-by" = "captf"
      "captf.io/template"   = "dev-v2"
    }
  }

  assert {
    condition     = output.exports.backend_id == var.backend_before
    error_message = "The exports must stay the same for life."
  }

  assert {
    condition     = jsonencode(output.control_plane_endpoint) == jsonencode({ host = "noop-dev-x7k2p.invalid", port = 6443 })
    error_message = "The endpoint must stay the same for life."
  }
}

run "user_endpoint_is_echoed" {
  variables {
    control_plane_endpoint = { host = "api.example.com", port = 443 }
    endpoint_host          = "ignored.example.com"
  }

  assert {
    condition     = jsonencode(output.control_plane_endpoint) == jsonencode({ host = "api.example.com", port = 443 })
    error_message = "An endpoint that somebody else provides must be used as it is."
  }
}

run "partial_network_is_accepted" {
  command = plan

  variables {
    cluster_network = { pods = ["10.1.0.0/16"] }
  }

  assert {
    condition     = jsonencode(terraform_data.load_balancer.input.cluster_network) == jsonencode({ api_server_port = null, pods = ["10.1.0.0/16"], service_domain = null, services = [] })
    error_message = "Attributes that were left out must be empty."
  }
}

run "long_names" {
  command = plan

  variables {
    captf_object = { kind = "TerraformCluster", name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", namespace = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" }
  }

  assert {
    condition     = length(output.control_plane_endpoint.host) == 253
    error_message = "The host must fit into a DNS name."
  }

  assert {
    condition     = output.control_plane_endpoint.host == "noop-${substr(var.captf_object.name, 0, 231)}-${substr(sha256(var.captf_object.name), 0, 8)}.invalid"
    error_message = "A name that was cut must end in a hash of the whole."
  }
}

run "contract_version" {
  command = plan

  variables {
    captf_contract = "v2"
  }

  expect_failures = [var.captf_contract]
}
