module "network" {
  source  = "example/network/null"
  version = "1.2.3"
}

module "other" {
  source = "git::https://example.com/m.git"
}
