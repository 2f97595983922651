# The life of a pool that scales itself: each run continues with the state of the one
# before.

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

run "fixed_size" {
  assert {
    condition     = output.replicas == 3 && length(terraform_data.desired_capacity) == 0
    error_message = "Without autoscaling the size is the wanted one."
  }
}

run "switched_on" {
  variables {
    autoscaling = { enabled = true, min = 1, max = 5 }
  }

  assert {
    condition     = output.replicas == 3
    error_message = "The scaler must start from the size at which it was switched on."
  }
}

run "desired_capacity_is_the_scalers" {
  variables {
    replicas    = 2
    autoscaling = { enabled = true, min = 1, max = 5 }
  }

  assert {
    condition     = output.replicas == 3 && length(output.provider_id_list) == 3
    error_message = "While autoscaled the wanted size must be ignored."
  }
}

run "minimum_moves_the_size" {
  variables {
    autoscaling = { enabled = true, min = 4, max = 5 }
  }

  assert {
    condition     = output.replicas == 4 && length(output.provider_id_list) == 4
    error_message = "The size must not be below the minimum."
  }
}

run "maximum_moves_the_size" {
  variables {
    autoscaling = { enabled = true, min = 0, max = 2 }
  }

  assert {
    condition     = output.replicas == 2 && length(output.provider_id_list) == 2
    error_message = "The size must not be above the maximum."
  }
}

run "switched_off" {
  variables {
    replicas = 6
  }

  assert {
    condition     = output.replicas == 6
    error_message = "Without autoscaling the size is the wanted one again."
  }
}
