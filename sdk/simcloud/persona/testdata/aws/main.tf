terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

provider "aws" {
  region = "eu-west-1"
  default_tags { tags = { owner = "captf" } }
}

variable "replicas" { default = 3 }
variable "size" { default = "m7i.large" }

data "aws_availability_zones" "all" {}
data "aws_partition" "here" {}

data "aws_ami_ids" "image" {
  owners = ["self"]
  filter {
    name   = "name"
    values = ["capi-*"]
  }
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.${data.aws_partition.here.dns_suffix}"]
    }
  }
}

resource "aws_vpc" "v" { cidr_block = "10.1.0.0/16" }
resource "aws_subnet" "s" {
  count                   = 2
  vpc_id                  = aws_vpc.v.id
  cidr_block              = cidrsubnet("10.1.0.0/16", 8, count.index)
  availability_zone       = data.aws_availability_zones.all.names[count.index]
  map_public_ip_on_launch = true
}
resource "aws_internet_gateway" "g" { vpc_id = aws_vpc.v.id }
resource "aws_eip" "nat" { domain = "vpc" }
resource "aws_nat_gateway" "n" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.s[0].id
  depends_on    = [aws_internet_gateway.g]
}
resource "aws_security_group" "cp" {
  name_prefix = "cp-"
  vpc_id      = aws_vpc.v.id
}
resource "aws_vpc_security_group_ingress_rule" "api" {
  security_group_id = aws_security_group.cp.id
  cidr_ipv4         = "10.0.0.0/8"
  ip_protocol       = "tcp"
  from_port         = 6443
  to_port           = 6443
}
resource "aws_iam_role" "r" {
  name               = "node"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}
resource "aws_iam_role_policy" "p" {
  role   = aws_iam_role.r.id
  policy = jsonencode({ Version = "2012-10-17", Statement = [] })
}
resource "aws_iam_instance_profile" "p" {
  name = "node"
  role = aws_iam_role.r.name
}
resource "aws_s3_bucket" "b" { bucket_prefix = "boot-" }
resource "aws_s3_object" "o" {
  bucket  = aws_s3_bucket.b.bucket
  key     = "a"
  content = "hello"
}
resource "aws_lb" "api" {
  name               = "api"
  load_balancer_type = "network"
  internal           = true
  subnets            = aws_subnet.s[*].id
  security_groups    = [aws_security_group.cp.id]
}
resource "aws_lb_target_group" "api" {
  name     = "api"
  port     = 6443
  protocol = "TCP"
  vpc_id   = aws_vpc.v.id
  health_check { protocol = "TCP" }
}
resource "aws_lb_listener" "api" {
  load_balancer_arn = aws_lb.api.arn
  port              = 6443
  protocol          = "TCP"
  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}
resource "aws_instance" "i" {
  count                  = 2
  ami                    = data.aws_ami_ids.image.ids[0]
  instance_type          = var.size
  subnet_id              = aws_subnet.s[count.index].id
  vpc_security_group_ids = [aws_security_group.cp.id]
  iam_instance_profile   = aws_iam_instance_profile.p.name
  root_block_device { volume_size = 50 }
  depends_on = [aws_internet_gateway.g]
}
resource "aws_lb_target_group_attachment" "i" {
  count            = 2
  target_group_arn = aws_lb_target_group.api.arn
  target_id        = aws_instance.i[count.index].id
}
resource "aws_ebs_volume" "v" {
  availability_zone = aws_instance.i[0].availability_zone
  size              = 10
}
resource "aws_volume_attachment" "v" {
  device_name = "/dev/sdf"
  instance_id = aws_instance.i[0].id
  volume_id   = aws_ebs_volume.v.id
}
resource "aws_launch_template" "t" {
  name_prefix            = "pool-"
  image_id               = data.aws_ami_ids.image.ids[0]
  instance_type          = var.size
  update_default_version = true
}
resource "aws_autoscaling_group" "g" {
  name                = "pool"
  min_size            = var.replicas
  max_size            = var.replicas
  vpc_zone_identifier = aws_subnet.s[*].id
  launch_template {
    id      = aws_launch_template.t.id
    version = "$Latest"
  }
}
data "aws_instances" "members" {
  instance_tags        = { "aws:autoscaling:groupName" = "pool" }
  instance_state_names = ["pending", "running"]
  depends_on           = [aws_autoscaling_group.g]
}
resource "aws_route53_zone" "z" { name = "example.com" }
resource "aws_route53_record" "r" {
  zone_id = aws_route53_zone.z.zone_id
  name    = "api.example.com"
  type    = "CNAME"
  ttl     = 60
  records = [aws_lb.api.dns_name]
}

output "members" { value = length(data.aws_instances.members.ids) }
output "addresses" { value = concat(aws_instance.i[*].private_ip, data.aws_instances.members.private_ips) }
output "names" {
  value = {
    vpc  = aws_vpc.v.id
    lb   = aws_lb.api.arn
    dns  = aws_lb.api.dns_name
    tg   = aws_lb_target_group.api.id
    node = aws_instance.i[0].id
    host = aws_instance.i[0].private_dns
    zone = aws_instance.i[1].availability_zone
    tags = aws_vpc.v.tags_all
    role = aws_iam_role.r.arn
    etag = aws_s3_object.o.etag
  }
}
