# Every subnet is public: nodes reach registries through the internet gateway, with addresses
# of their own, and accept nothing from outside but what the security groups name. A NAT
# gateway for each zone would let nodes live without public addresses.

data "aws_availability_zones" "available" {
  state = "available"
}

resource "aws_vpc" "cluster" {
  cidr_block           = var.vpc_cidr
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags                 = merge(local.tags, local.owned, { Name = local.prefix })
}

resource "aws_subnet" "zone" {
  for_each = local.zones

  vpc_id                  = aws_vpc.cluster.id
  availability_zone       = each.key
  cidr_block              = cidrsubnet(var.vpc_cidr, 4, each.value)
  map_public_ip_on_launch = true
  tags                    = merge(local.tags, local.owned, { Name = "${local.prefix}-${each.key}", "kubernetes.io/role/elb" = "1" })

  lifecycle {
    precondition {
      condition     = contains(data.aws_availability_zones.available.names, each.key)
      error_message = "zones: ${each.key} is no available zone of the region ${var.region}."
    }
  }
}

resource "aws_internet_gateway" "cluster" {
  vpc_id = aws_vpc.cluster.id
  tags   = merge(local.tags, local.owned, { Name = local.prefix })
}

resource "aws_route_table" "cluster" {
  vpc_id = aws_vpc.cluster.id
  tags   = merge(local.tags, local.owned, { Name = local.prefix })
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.cluster.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.cluster.id
}

resource "aws_route_table_association" "zone" {
  for_each = local.zones

  route_table_id = aws_route_table.cluster.id
  subnet_id      = aws_subnet.zone[each.key].id
}
