# Who is in the group. AWS lists ids without zones, and a provider id has both: one listing
# for each zone of the cluster, since a group whose zones changed still has members in the
# old ones. Members that are being terminated are none.

data "aws_instances" "zone" {
  for_each = toset(keys(local.exports.subnet_ids))

  instance_tags        = { "aws:autoscaling:groupName" = local.name }
  instance_state_names = ["pending", "running", "stopping", "stopped"]

  filter {
    name   = "availability-zone"
    values = [each.key]
  }

  depends_on = [aws_autoscaling_group.pool]
}

data "aws_instances" "state" {
  for_each = { running = ["running"], stopped = ["stopping", "stopped"] }

  instance_tags        = { "aws:autoscaling:groupName" = local.name }
  instance_state_names = each.value

  depends_on = [aws_autoscaling_group.pool]
}

# The capacity as it is after the apply. The resource itself ignores changes of it, so what is
# planned for the resource, and with it what an output would say, is the capacity before.
data "aws_autoscaling_group" "pool" {
  count = length(aws_autoscaling_group.pool)

  name = local.name

  depends_on = [aws_autoscaling_group.pool]
}

locals {
  members = flatten([
    for zone in sort(keys(data.aws_instances.zone)) : [
      for id in sort(data.aws_instances.zone[zone].ids) : {
        id    = id
        zone  = zone
        state = contains(data.aws_instances.state["running"].ids, id) ? "running" : contains(data.aws_instances.state["stopped"].ids, id) ? "stopped" : "pending"
      }
    ]
  ])
  stopped = [for member in local.members : member.id if member.state == "stopped"]
  pending = [for member in local.members : member.id if member.state == "pending"]

  # When the group is gone the wanted size stays what it was, so that no zero flows back
  # into the MachinePool.
  group_gone = length(aws_autoscaling_group.pool) == 0
  desired    = try(coalesce(one(data.aws_autoscaling_group.pool[*].desired_capacity)), var.replicas)

  # The first that applies. Members that are starting never make a pool pending: the first of
  # them can only join once the pool is reported as provisioned (CP-064).
  verdicts = [
    { when = local.group_gone, state = "terminated", message = "The group is gone.", reasons = ["GroupNotFound"] },
    { when = local.desired == 0, state = "running", message = "The group is empty, as it should be.", reasons = [] },
    { when = length(local.members) == 0, state = "pending", message = "The group has no member yet.", reasons = ["NoMembers"] },
    { when = length(local.stopped) > 0, state = "stopped", message = "Members are stopped.", reasons = [for id in local.stopped : "InstanceStopped:${id}"] },
    { when = length(local.pending) > 0, state = "running", message = "Members are starting.", reasons = [for id in local.pending : "InstancePending:${id}"] },
    { when = length(local.members) != local.desired, state = "running", message = "The group has ${length(local.members)} of ${local.desired} members.", reasons = ["ScalingInProgress"] },
    { when = true, state = "running", message = "All ${local.desired} members are running.", reasons = [] },
  ]
  verdict = [for verdict in local.verdicts : verdict if verdict.when][0]
}
