# A file of its own, because it needs an empty state: the condition that fails waits
# for an id that is not known yet.

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

run "failure_of_apply" {
  variables {
    simulate_failure = "apply"
  }

  expect_failures = [terraform_data.load_balancer]
}
