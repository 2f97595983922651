output "failure_domains" {
  value = local.zones ? [{ name = "a" }] : [{ name = "" }]
}

locals {
  zones = aws_vpc.this.zoned
}
