# The contract outputs of role cluster, in contract order.

locals {
  endpoint_lost = local.own_endpoint && length(aws_lb.api) == 0
}

output "control_plane_endpoint" {
  description = "Endpoint of the control plane."
  value = (local.own_endpoint
    ? local.endpoint_lost ? null : { host = one(aws_lb.api[*].dns_name), port = local.api_port }
    : var.control_plane_endpoint
  )
}

output "failure_domains" {
  description = "Failure domains that machines may be placed in."
  value = [
    for zone in sort(keys(local.zones)) : {
      name       = zone
      attributes = { subnet_id = aws_subnet.zone[zone].id }
    }
  ]
}

output "exports" {
  description = "Identifiers that machine and machinepool modules need."
  value = {
    # Consumers refuse a schema that they do not know. Adding a key keeps it, removing or
    # renaming one needs the next version.
    schema                = "captf.io/simulated-aws-cluster/v1"
    region                = var.region
    vpc_id                = aws_vpc.cluster.id
    kubernetes_cluster_id = local.prefix
    subnet_ids            = { for zone, subnet in aws_subnet.zone : zone => subnet.id }
    security_group_ids = {
      control_plane = [aws_security_group.control_plane.id, aws_security_group.node.id]
      worker        = [aws_security_group.node.id]
    }
    instance_profiles = { for role, profile in aws_iam_instance_profile.node : role => profile.name }
    bootstrap_bucket  = aws_s3_bucket.bootstrap.id
    target_groups     = { for key, group in aws_lb_target_group.api : key => { arn = group.arn, port = group.port } }
  }
}

output "health" {
  description = "Health of the infrastructure as the cloud sees it."
  # Backends play no part: the first machine is only made once the cluster is provisioned (CP-006).
  value = (local.endpoint_lost
    ? {
      state   = "terminated"
      healthy = false
      message = "The load balancer of the API is gone."
      reasons = tolist(["LoadBalancerNotFound"])
    }
    : {
      state   = "running"
      healthy = true
      message = local.own_endpoint ? "The load balancer of the API exists." : "The network exists; the endpoint is provided by somebody else."
      reasons = tolist([])
    }
  )
}
