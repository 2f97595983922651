output "exports" {
  value = {
    schema  = "captf.io/noop-cluster/v1"
    backend = "noop-backend-${terraform_data.load_balancer.id}"
  }
}
