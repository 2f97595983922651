# A file of its own, because it needs an empty state: the condition that fails waits
# for an id that is not known yet.

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

run "failure_of_apply" {
  variables {
    simulate_failure = "apply"
  }

  expect_failures = [terraform_data.instance]
}
