output "exports" {
  value = {
    schema     = "captf.io/noop-cluster/v1"
    backend_id = "noop-backend-${terraform_data.load_balancer.id}"
    map        = join("", [for n in range(1024) : "0123456789012345678901234567890123456789012345678901234567890123"])
  }
}
