# A file of its own, because it needs an empty state: the condition that fails waits
# for an id that is not known yet.

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

run "failure_of_apply" {
  variables {
    simulate_failure = "apply"
  }

  expect_failures = [terraform_data.group]
}
