module "registry" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 5.0"
  name    = "x"
}
module "git" {
  source = "git::https://example.invalid/net.git?ref=v1"
}
module "hub" {
  source = "github.com/example/net"
}
module "ssh" {
  source = "git@github.com:example/net.git"
}
module "http" {
  source = "https://example.invalid/net.zip"
}
module "absolute" {
  source = "/opt/modules/net"
}
